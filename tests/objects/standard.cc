// What libstdc++ calls for std::, mostly in its own library, where no slot of the program leads to.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

int main()
{
	std::mutex mutex;
	std::shared_mutex shared;
	std::condition_variable condition;
	bool ready = false;
	std::thread thread([&] {
		std::unique_lock<std::shared_mutex> writer(shared);
		std::lock_guard<std::mutex> guard(mutex);
		ready = true;
		condition.notify_all();
	});
	{
		std::unique_lock<std::mutex> lock(mutex);
		condition.wait(lock, [&] { return ready; });
	}
	std::shared_lock<std::shared_mutex> reader(shared);
	auto handle = thread.native_handle();
	thread.join();
	std::printf("%p %p %p %p\n", static_cast<void *>(&mutex), static_cast<void *>(&shared), static_cast<void *>(&condition),
		    reinterpret_cast<void *>(handle));
}
