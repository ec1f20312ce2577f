struct Trouble {
	explicit Trouble(int n) : number(n)
	{
	}
	virtual ~Trouble() = default;
	virtual int value() const;
	int number;
};
