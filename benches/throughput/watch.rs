//! A watch on the wire: it stands between the client and the sandbox, passes everything on, and notes when posts arrive.

use std::io::{self, IoSliceMut, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use nix::sys::socket::sockopt::ReceiveTimestamp;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::TimeVal;

const SILENCE_MAX: Duration = Duration::from_secs(60);
const POST: &[u8] = b"GATEWAY.postPayment";
const QUESTION: &[u8] = b"GATEWAY.queryPaymentStatus";

/// What has passed.
#[derive(Default)]
struct Seen {
    arrivals: Vec<Instant>,
    first_question: Option<Instant>,
    first_body: Vec<u8>,
}

/// The watch; it ends when it is dropped.
pub struct Watch {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    ended: Arc<AtomicBool>,
}

impl Watch {
    /// Listens at an address in place of a gateway that is elsewhere.
    pub fn start(listen: SocketAddr, gateway: SocketAddr) -> io::Result<Self> {
        Self::start_as(listen, gateway, false)
    }

    /// The same, and no post is passed on, or answered.
    pub fn start_without_answers(listen: SocketAddr, gateway: SocketAddr) -> io::Result<Self> {
        Self::start_as(listen, gateway, true)
    }

    fn start_as(listen: SocketAddr, gateway: SocketAddr, keeps_posts: bool) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let watch = Self {
            address: listener.local_addr()?,
            seen: Arc::default(),
            ended: Arc::default(),
        };
        let (seen, ended) = (Arc::clone(&watch.seen), Arc::clone(&watch.ended));
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let seen = Arc::clone(&seen);
                // How a connection ends is the two sides' affair.
                std::thread::spawn(move || drop(pass_on(client, gateway, keeps_posts, &seen)));
            }
        });
        Ok(watch)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns when the requests that post payments had arrived in full, in their order.
    pub fn arrivals(&self) -> Vec<Instant> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut arrivals = seen.arrivals.clone();
        arrivals.sort_unstable();
        arrivals
    }

    /// Returns when the first question had arrived.
    pub fn first_question(&self) -> Option<Instant> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.first_question
    }

    /// Returns the body of the first post.
    pub fn first_body(&self) -> Vec<u8> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.first_body.clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Whoever accepts is woken by a last connection.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

fn pass_on(
    mut client: TcpStream,
    gateway: SocketAddr,
    keeps_posts: bool,
    seen: &Mutex<Seen>,
) -> io::Result<()> {
    let mut gateway = TcpStream::connect_timeout(&gateway, Duration::from_secs(5))?;
    setsockopt(&client, ReceiveTimestamp, &true)?;
    for stream in [&client, &gateway] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(SILENCE_MAX))?;
    }
    let mut message = Vec::new();
    loop {
        let (body, at) = read_message(&client, &mut message)?;
        let body = &message[body..];
        let holds = |words: &[u8]| body.windows(words.len()).any(|window| window == words);
        if holds(POST) {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.first_body.is_empty() {
                seen.first_body = body.to_vec();
            }
            seen.arrivals.push(at);
            if keeps_posts {
                continue;
            }
        } else if holds(QUESTION) {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.first_question.get_or_insert(at);
        }
        gateway.write_all(&message)?;
        read_message(&gateway, &mut message)?;
        client.write_all(&message)?;
    }
}

/// Reads one message of HTTP/1.1 and returns where its body begins, and when it was there in full. Neither side pipelines, or
/// sends a body in chunks.
fn read_message(stream: &TcpStream, message: &mut Vec<u8>) -> io::Result<(usize, Instant)> {
    message.clear();
    let mut chunk = [0; 16 * 1024];
    let mut whole = None;
    loop {
        let (read, at) = receive(stream, &mut chunk)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        message.extend_from_slice(&chunk[..read]);
        if whole.is_none() {
            whole = head(message);
        }
        if let Some((body, length)) = whole
            && message.len() >= body + length
        {
            return Ok((body, at));
        }
    }
}

/// Receives bytes, and returns when the last of them came to the socket: by the kernel where it tells, as this thread may be
/// kept waiting for a core.
fn receive(stream: &TcpStream, chunk: &mut [u8]) -> io::Result<(usize, Instant)> {
    let mut room = nix::cmsg_space!(TimeVal);
    let mut slices = [IoSliceMut::new(chunk)];
    let flags = MsgFlags::empty();
    let received = recvmsg::<()>(stream.as_raw_fd(), &mut slices, Some(&mut room), flags)?;
    let stamp = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestamp(stamp) => Some(stamp),
        _ => None,
    });
    let ago = stamp.and_then(|stamp| {
        let seconds = u64::try_from(stamp.tv_sec()).ok()?;
        let micros = u32::try_from(stamp.tv_usec()).ok()?;
        let came = SystemTime::UNIX_EPOCH + Duration::new(seconds, micros * 1000);
        SystemTime::now().duration_since(came).ok()
    });
    let now = Instant::now();
    Ok((received.bytes, now - ago.unwrap_or_default()))
}

/// Returns where the body begins and how long it is, once the head is there.
fn head(message: &[u8]) -> Option<(usize, usize)> {
    let end = message
        .windows(4)
        .position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&message[..end]);
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok()).flatten()
    });
    Some((end + 4, length.unwrap_or(0)))
}
