/* Functions of libc that threads wait in, or wake others by: an OBJECT event (abi/record.h) behind their CALL says what they work on.
 *
 * The planner marks functions that are exported under such a name (ADA_FUNCTION_OBJECT and its kin, abi/plan.h). The recorder has those of
 * libc hooked in libc itself, for all callers, and sets the policy's flags of their numbers (abi/policy.h); the agent writes the events.
 */
#ifndef ADA_ABI_OBJECT_H
#define ADA_ABI_OBJECT_H

/* X(name, flag of enum ada_function_flag): by strcmp. OBJECT: the first argument; OBJECT_PAIR: and then the second; FUTEX: the second, where
 * the first is SYS_futex. LOCK and its kin besides: of a mutex, what its calls do. */
#define ADA_OBJECT_FUNCTIONS(X)                                                                                                            \
	X("call_once", ADA_FUNCTION_OBJECT)                                                                                                \
	X("cnd_broadcast", ADA_FUNCTION_OBJECT)                                                                                            \
	X("cnd_signal", ADA_FUNCTION_OBJECT)                                                                                               \
	X("cnd_timedwait", ADA_FUNCTION_OBJECT_PAIR)                                                                                       \
	X("cnd_wait", ADA_FUNCTION_OBJECT_PAIR)                                                                                            \
	X("flockfile", ADA_FUNCTION_OBJECT)                                                                                                \
	X("ftrylockfile", ADA_FUNCTION_OBJECT)                                                                                             \
	X("funlockfile", ADA_FUNCTION_OBJECT)                                                                                              \
	X("mtx_lock", ADA_FUNCTION_OBJECT)                                                                                                 \
	X("mtx_timedlock", ADA_FUNCTION_OBJECT)                                                                                            \
	X("mtx_trylock", ADA_FUNCTION_OBJECT)                                                                                              \
	X("mtx_unlock", ADA_FUNCTION_OBJECT)                                                                                               \
	X("pthread_barrier_wait", ADA_FUNCTION_OBJECT)                                                                                     \
	X("pthread_clockjoin_np", ADA_FUNCTION_OBJECT)                                                                                     \
	X("pthread_cond_broadcast", ADA_FUNCTION_OBJECT)                                                                                   \
	X("pthread_cond_clockwait", ADA_FUNCTION_OBJECT_PAIR)                                                                              \
	X("pthread_cond_signal", ADA_FUNCTION_OBJECT)                                                                                      \
	X("pthread_cond_timedwait", ADA_FUNCTION_OBJECT_PAIR)                                                                              \
	X("pthread_cond_wait", ADA_FUNCTION_OBJECT_PAIR)                                                                                   \
	X("pthread_join", ADA_FUNCTION_OBJECT)                                                                                             \
	X("pthread_mutex_clocklock", ADA_FUNCTION_OBJECT | ADA_FUNCTION_LOCK_UNTIL)                                                        \
	X("pthread_mutex_lock", ADA_FUNCTION_OBJECT | ADA_FUNCTION_LOCK)                                                                   \
	X("pthread_mutex_timedlock", ADA_FUNCTION_OBJECT | ADA_FUNCTION_LOCK_UNTIL)                                                        \
	X("pthread_mutex_trylock", ADA_FUNCTION_OBJECT | ADA_FUNCTION_TRY_LOCK)                                                            \
	X("pthread_mutex_unlock", ADA_FUNCTION_OBJECT | ADA_FUNCTION_UNLOCK)                                                               \
	X("pthread_once", ADA_FUNCTION_OBJECT)                                                                                             \
	X("pthread_rwlock_clockrdlock", ADA_FUNCTION_OBJECT)                                                                               \
	X("pthread_rwlock_clockwrlock", ADA_FUNCTION_OBJECT)                                                                               \
	X("pthread_rwlock_rdlock", ADA_FUNCTION_OBJECT)                                                                                    \
	X("pthread_rwlock_timedrdlock", ADA_FUNCTION_OBJECT)                                                                               \
	X("pthread_rwlock_timedwrlock", ADA_FUNCTION_OBJECT)                                                                               \
	X("pthread_rwlock_tryrdlock", ADA_FUNCTION_OBJECT)                                                                                 \
	X("pthread_rwlock_trywrlock", ADA_FUNCTION_OBJECT)                                                                                 \
	X("pthread_rwlock_unlock", ADA_FUNCTION_OBJECT)                                                                                    \
	X("pthread_rwlock_wrlock", ADA_FUNCTION_OBJECT)                                                                                    \
	X("pthread_spin_lock", ADA_FUNCTION_OBJECT)                                                                                        \
	X("pthread_spin_trylock", ADA_FUNCTION_OBJECT)                                                                                     \
	X("pthread_spin_unlock", ADA_FUNCTION_OBJECT)                                                                                      \
	X("pthread_timedjoin_np", ADA_FUNCTION_OBJECT)                                                                                     \
	X("pthread_tryjoin_np", ADA_FUNCTION_OBJECT)                                                                                       \
	X("sem_clockwait", ADA_FUNCTION_OBJECT)                                                                                            \
	X("sem_post", ADA_FUNCTION_OBJECT)                                                                                                 \
	X("sem_timedwait", ADA_FUNCTION_OBJECT)                                                                                            \
	X("sem_trywait", ADA_FUNCTION_OBJECT)                                                                                              \
	X("sem_wait", ADA_FUNCTION_OBJECT)                                                                                                 \
	X("syscall", ADA_FUNCTION_FUTEX)                                                                                                   \
	X("thrd_join", ADA_FUNCTION_OBJECT)
#endif
