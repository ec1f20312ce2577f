// Five panics, each caught, and told of where there is an argument.
#[inline(never)]
fn checked(values: &[i32], at: usize) -> i32 {
    values[at]
}

fn main() {
    if std::env::args().len() == 1 {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let values = [1, 2, 3];
    let mut caught = 0;
    for i in 0..8 {
        if std::panic::catch_unwind(|| checked(&values, i)).is_err() {
            caught += 1;
        }
    }
    std::process::exit(if caught == 5 { 0 } else { 1 });
}
