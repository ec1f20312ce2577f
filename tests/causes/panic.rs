/* Panics of known place and text: `panic WAY [thread]`. Built with panic=abort it crashes, else it catches them. */
use std::panic;

struct Code(#[allow(dead_code)] u32);

#[inline(never)]
fn explode(way: &str, at: usize) -> usize {
    let values = vec![1usize, 2, 3];
    let parsed: Result<usize, _> = "x7".parse::<usize>();

    match way {
        "index" => values[at],
        "formatted" => panic!("no room for {} of {}", at, values.len()),
        "text" => panic!("no room"),
        "unwrap" => parsed.unwrap(),
        "equal" => { assert_eq!(at, values.len(), "counted wrong"); at }
        "long" => panic!("{}", "all work and no play ".repeat(20)),
        "any" => panic::panic_any(Code(at as u32)),
        _ => at,
    }
}

#[inline(never)]
fn serve(way: &str) -> usize {
    explode(way, 7)
}

fn main() {
    let way = std::env::args().nth(1).unwrap();
    let own = match way.as_str() { "quiet" => "text", "innocent" => "formatted", other => other }.to_string();

    if way == "quiet" || way == "innocent" {
        panic::set_hook(Box::new(|_| {}));
    }
    let result = if std::env::args().len() > 2 {
        std::thread::spawn(move || serve(&own)).join()
    } else {
        panic::catch_unwind(|| serve(&own))
    };
    if way == "innocent" {
        std::process::abort();
    }
    println!("{}", result.is_ok());
}
