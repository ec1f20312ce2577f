/* A pool of one worker, which has slow work of somebody else's: the request waits for its future. */
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>
#include "causes.h"

class Pool {
	std::mutex mutex;
	std::condition_variable condition;
	std::queue<std::function<void()>> queue;
	bool ends = false;
	std::thread worker{ [this] { run(); } };

	OUT void run()
	{
		for (;;) {
			std::function<void()> work;
			{
				std::unique_lock<std::mutex> hold(mutex);

				condition.wait(hold, [this] { return ends || !queue.empty(); });
				if (queue.empty())
					return;
				work = std::move(queue.front());
				queue.pop();
			}
			work();
		}
	}

    public:
	OUT void post(std::function<void()> work)
	{
		{
			std::lock_guard<std::mutex> hold(mutex);

			queue.push(std::move(work));
		}
		condition.notify_one();
	}
	~Pool()
	{
		{
			std::lock_guard<std::mutex> hold(mutex);

			ends = true;
		}
		condition.notify_one();
		worker.join();
	}
};

OUT void nightly_report(int us)
{
	usleep(us);
}

extern "C" OUT int serve(Pool &pool)
{
	std::promise<int> promise;
	std::future<int> future = promise.get_future();

	pool.post([&promise] { promise.set_value(1); });
	return future.get();
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	{
		Pool pool;

		pool.post([] { nightly_report(caused ? LONG_US : 1); });
		serve(pool);
	}
	end();
}
