/* Rust panics unwind with Rust's own personality: caught in main, in a thread, and through drops of 50 frames.
 *
 * expect: caught 50
 * expect: thread panicked: boom 7
 * expect: sum 1275
 */
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

static DROPS: AtomicUsize = AtomicUsize::new(0);

struct Guard;
impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        DROPS.fetch_add(1, Ordering::SeqCst);
    }
}

/* A value that the compiler can't see through: hint::black_box is younger than Debian's rustc. */
fn opaque(value: usize) -> usize {
    unsafe { std::ptr::read_volatile(&value) }
}

#[inline(never)]
fn dive(depth: usize) -> usize {
    let _guard = Guard;
    if depth == 1 {
        panic!("boom {}", opaque(7));
    }
    dive(depth - 1) + 1
}

#[inline(never)]
fn add(depth: usize) -> usize {
    if depth == 0 { 0 } else { add(depth - 1) + opaque(depth) }
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    assert!(panic::catch_unwind(|| dive(50)).is_err());
    println!("caught {}", DROPS.load(Ordering::SeqCst));
    let error = thread::spawn(|| dive(20)).join().unwrap_err();
    println!("thread panicked: {}", error.downcast_ref::<String>().unwrap());
    println!("sum {}", add(50));
}
