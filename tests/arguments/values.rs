// As values.c, of Rust.

/// As std::hint's, which Debian's compiler doesn't have yet: whoever reads the memory may read all of it.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &value, options(nostack, preserves_flags)) };
    value
}

#[derive(Clone, Copy)]
#[allow(dead_code)]
enum Colour { Red, Green = 7 }
#[derive(Clone, Copy)]
struct Point { x: i32, y: i32 }
struct Metres(f64);
#[allow(dead_code)]
struct Large { a: [u64; 5] }

#[no_mangle] #[inline(never)]
pub extern "C" fn mark(times: i32) { black_box(times); }
#[inline(never)]
fn integers(a: i8, b: u16, c: i32, d: u64, e: isize) -> i64 { black_box((a, b, c, d, e)); -6 }
#[inline(never)]
fn texts(a: &str, number: u32, b: &str) -> u32 { black_box((a, b)); number }
#[inline(never)]
fn reals(a: f32, b: f64) -> f64 { black_box((a, b)); b }
#[inline(never)]
fn others(yes: bool, letter: char, colour: Colour) -> bool { black_box((letter, colour)); yes }
#[inline(never)]
fn points(a: Point, after: i32) -> Point { black_box(after); black_box(a) }
#[inline(never)]
fn metres(a: Metres, after: i32) -> i32 { black_box(a.0); after }
#[inline(never)]
fn large(a: Large, after: i32) -> i32 { black_box(&a); after }
#[inline(never)]
fn made(x: u64) -> Large { black_box(Large { a: [x; 5] }) }
#[inline(never)]
fn references(a: &Point, b: &mut i32, c: Option<&Point>) -> i32 { black_box(c); *b += a.x; *b }
#[inline(never)]
fn optional(a: Option<u32>, after: i32) -> Option<u32> { black_box(after); a }
#[inline(never)]
fn slices(a: &[i32], b: String) -> usize { black_box(&b); a.len() }
#[inline(never)]
fn array(a: [u8; 12], after: i32) -> [u8; 12] { black_box(after); black_box(a) }
#[inline(never)]
fn three(after: i32) -> (u64, u64, u8) { black_box((1, 2, after as u8)) }
#[inline(never)]
fn many(a: i32, b: i32, c: i32, d: i32, e: i32, f: &str, g: i32) -> i32 { black_box((a, b, c, d, e, f)); g }

impl Point {
    #[inline(never)]
    fn scaled(&self, by: i32) -> i32 { black_box(self); by * self.x }
}

fn main() {
    mark(1);
    black_box(integers(-1, 2, -3, 4, -5));
    black_box(texts("first text", 7, "second"));
    black_box(reals(1.5, -2.25));
    black_box(others(true, 'é', Colour::Green));
    black_box(points(Point { x: 8, y: -9 }, 10));
    black_box(metres(Metres(0.5), 11));
    black_box(large(Large { a: [1; 5] }, 12));
    black_box(made(13));
    let mut number = 14;
    black_box(references(&Point { x: 1, y: 2 }, &mut number, None));
    black_box(optional(Some(15), 16));
    black_box(slices(&[1, 2, 3], String::from("owned")));
    black_box(array([7; 12], 17));
    black_box(three(18));
    black_box(many(19, 20, 21, 22, 23, "across", 24));
    black_box(Point { x: 25, y: 0 }.scaled(2));
    mark(2);
}
