//! The programs that run behind the link: this test program, told by the environment what to do.

use std::fmt::Display;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Returns the command that runs the program inside.
pub(crate) fn command() -> [&'static str; 4] {
    static PROGRAM: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| std::env::current_exe().unwrap().to_string_lossy().into_owned());
    [&PROGRAM, "inside", "--exact", "--nocapture"]
}

/// Does what the environment says; nothing without it.
pub(crate) fn run() {
    let Ok(told) = std::env::var("FAIRLANE_INSIDE") else { return };
    let words: Vec<&str> = told.split(' ').collect();
    let number = |at: usize| words[at].parse().unwrap();
    match words[0] {
        "echo" => echo(words[1], number(2), number(3)),
        "echo-numbers" => echo_numbers(words[1], number(2)),
        "download" => download(words[1], number(2) as u64),
        "say" => match say(words[1], words[2]) {
            Ok(heard) => answer(heard),
            Err(error) => println!("\nerror: {:?}", error.kind()),
        },
        "serve" => serve(words[1], words[2]),
        "serve-files" => serve_files(words[1]),
        "fetch" => fetch(words[1], number(2)),
        other => panic!("{other}"),
    }
}

fn answer(value: impl Display) {
    println!("\nanswer: {value}");
}

fn connected(server: &str) -> UdpSocket {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket
}

/// Tells the round trips of datagrams in ms.
fn echo(server: &str, bytes: usize, times: usize) {
    let (socket, mut buffer) = (connected(server), [0; 2000]);
    for _ in 0..times {
        let began = Instant::now();
        socket.send(&vec![1; bytes]).unwrap();
        if socket.recv(&mut buffer).is_ok() {
            answer(began.elapsed().as_secs_f64() * 1e3);
        }
    }
}

/// Tells the numbers of the datagrams that come back.
fn echo_numbers(server: &str, times: usize) {
    let (socket, mut buffer) = (connected(server), [0; 2000]);
    for number in 0..times {
        socket.send(&(number as u32).to_ne_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    while let Ok(4) = socket.recv(&mut buffer) {
        answer(u32::from_ne_bytes(*buffer.first_chunk().unwrap()));
    }
}

/// Tells the bytes that come, and the seconds.
fn download(server: &str, seconds: u64) {
    let mut connection = TcpStream::connect(server).unwrap();
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
    // The queue has room for 1.5 MB, which may come at once from a link that had time; it starts to count behind that.
    let mut until = |seconds| {
        let (began, mut counted) = (Instant::now(), 0);
        while began.elapsed() < Duration::from_secs_f64(seconds) {
            counted += connection.read(&mut buffer).unwrap();
        }
        bytes = counted;
        began.elapsed().as_secs_f64()
    };
    until(0.5);
    let took = until(seconds as f64);
    answer(bytes);
    answer(took);
}

fn say(server: &str, word: &str) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(server)?;
    connection.write_all(word.as_bytes())?;
    connection.shutdown(Shutdown::Write)?;
    let mut heard = String::new();
    connection.read_to_string(&mut heard)?;
    Ok(heard)
}

/// Serves a word to each connection.
fn serve(port: &str, word: &str) {
    let listener = TcpListener::bind(format!("0.0.0.0:{port}")).unwrap();
    println!("\nserving");
    for mut connection in listener.incoming().flatten() {
        connection.write_all(word.as_bytes()).unwrap();
    }
}

/// Serves a file to each connection, each 3000 bytes longer than the one before.
fn serve_files(port: &str) {
    let listener = TcpListener::bind(format!("0.0.0.0:{port}")).unwrap();
    for (number, mut connection) in (1..).zip(listener.incoming().flatten()) {
        connection.write_all(&vec![7; 3000 * number]).unwrap();
    }
}

/// Tells the length of each file, and its time in ms.
fn fetch(server: &str, times: usize) {
    for _ in 0..times {
        let (began, mut heard) = (Instant::now(), Vec::new());
        TcpStream::connect(server).and_then(|mut connection| connection.read_to_end(&mut heard)).unwrap();
        answer(heard.len());
        answer(began.elapsed().as_secs_f64() * 1e3);
    }
}
