//! Clients that take nothing of what is sent to them.

use std::any::Any;

use actix_web::rt::net::TcpStream;
use rustix::net::sockopt;

/// How many bytes the kernel holds for a client that does not take them.
const SEND_BUFFER: usize = 128 * 1024;

/// Bounds what the kernel holds for the client of a new connection, and has it cut the connection when nothing was
/// taken for so long. Nobody else can: while a socket is full, nothing is asked of its stream.
pub fn limit_stalling(connection: &dyn Any, after_ms: u32) {
    let Some(socket) = connection.downcast_ref::<TcpStream>() else { return };
    let bounded = sockopt::set_socket_send_buffer_size(socket, SEND_BUFFER);
    #[cfg(target_os = "linux")]
    let bounded = bounded.and_then(|()| sockopt::set_tcp_user_timeout(socket, after_ms));
    #[cfg(not(target_os = "linux"))]
    let _ = after_ms;
    if let Err(err) = bounded {
        tracing::warn!(cause = %err, "cannot limit how long a client may stall");
    }
}
