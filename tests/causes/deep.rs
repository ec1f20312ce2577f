// A recursion that never ends, of main or of another thread, by one function or two; or one that comes back before the program aborts.

/// As std::hint::black_box, which rustc 1.63 doesn't have yet.
fn black_box<T: Copy>(value: T) -> T {
    unsafe { std::ptr::read_volatile(&value) }
}

#[inline(never)]
fn look(depth: u64) -> u64 {
    black_box(depth) % 16
}

#[inline(never)]
fn walk(depth: u64, last: u64) -> u64 {
    let room = black_box([depth; 16]);
    if depth == last {
        return 0;
    }
    walk(depth + 1, last) + room[look(depth) as usize]
}

#[inline(never)]
fn descend(depth: u64) -> u64 {
    let room = black_box([depth; 32]);
    climb(depth + 1) + room[look(depth) as usize]
}

#[inline(never)]
fn climb(depth: u64) -> u64 {
    let room = black_box([depth; 4]);
    descend(depth + 1) + room[(depth % 4) as usize]
}

fn search(kind: &str) -> u64 {
    match kind {
        "one" => walk(1, u64::MAX),
        "two" => descend(1),
        _ => walk(1, 2000),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let kind = words[1].clone();
    let sum = if words.len() > 2 { std::thread::spawn(move || search(&kind)).join().unwrap() } else { search(&kind) };
    println!("{}", sum);
    std::process::abort();
}
