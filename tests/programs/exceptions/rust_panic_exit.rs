/* A panic that nobody catches ends the program with status 101.
 *
 * run: -> 101
 */
#[inline(never)]
fn dive(depth: usize) -> usize {
    if depth == 0 {
        let empty: Vec<usize> = Vec::new();
        return empty[unsafe { std::ptr::read_volatile(&0) }];
    }
    dive(depth - 1) + 1
}

fn main() {
    // the default hook prints the thread's number, which differs from run to run
    std::panic::set_hook(Box::new(|info| eprintln!("{}", info.location().unwrap().line())));
    dive(10);
}
