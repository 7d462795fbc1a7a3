//! The sandbox's only process: keeps a pod's namespaces open, and does nothing else.
//!
//! `build.rs` compiles this file alone, without the standard library, so that the image has no other file and
//! needs no registry. As process 1 of a pod it must end on SIGTERM and SIGINT (the kernel drops them for a
//! process 1 that has no handler), and with a shared process namespace it is handed every orphan to reap.
//! Blocked signals are queued whatever their handler, so it blocks the three and waits for them.

#![no_std]
#![no_main]

use core::arch::{asm, global_asm};

const SIGINT: usize = 2;
const SIGTERM: usize = 15;
const SIGCHLD: usize = 17;
/// The kernel's signal set: one bit for each signal, from 1.
static SIGNALS: u64 = 1 << (SIGINT - 1) | 1 << (SIGTERM - 1) | 1 << (SIGCHLD - 1);
const SIG_BLOCK: usize = 0;
const WNOHANG: usize = 1;
const ANY_CHILD: usize = usize::MAX;

#[cfg(target_arch = "x86_64")]
mod kernel {
    pub const SIGPROCMASK: usize = 14;
    pub const SIGTIMEDWAIT: usize = 128;
    pub const WAIT4: usize = 61;
    pub const EXIT_GROUP: usize = 231;
}

#[cfg(target_arch = "aarch64")]
mod kernel {
    pub const SIGPROCMASK: usize = 135;
    pub const SIGTIMEDWAIT: usize = 137;
    pub const WAIT4: usize = 260;
    pub const EXIT_GROUP: usize = 94;
}

#[cfg(target_arch = "arm")]
mod kernel {
    pub const SIGPROCMASK: usize = 175;
    pub const SIGTIMEDWAIT: usize = 177;
    pub const WAIT4: usize = 114;
    pub const EXIT_GROUP: usize = 248;
}

// The kernel starts a program with an aligned stack and no return address; a function expects a call.
#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "call {}", sym run);
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
global_asm!(".globl _start", "_start:", "bl {}", sym run);

extern "C" fn run() -> ! {
    let set = &raw const SIGNALS as usize;
    let size = size_of::<u64>();
    call(kernel::SIGPROCMASK, [SIG_BLOCK, set, 0, size]);
    loop {
        match call(kernel::SIGTIMEDWAIT, [set, 0, 0, size]) {
            SIGINT | SIGTERM => {
                call(kernel::EXIT_GROUP, [0; 4]);
            }
            // One signal may stand for several children.
            SIGCHLD => while (call(kernel::WAIT4, [ANY_CHILD, 0, WNOHANG, 0]) as isize) > 0 {},
            // Interrupted, for instance by a debugger.
            _ => {}
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn call(number: usize, [a, b, c, d]: [usize; 4]) -> usize {
    let result;
    // SAFETY: the four calls above read at most SIGNALS and write no memory.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

#[cfg(target_arch = "aarch64")]
fn call(number: usize, [a, b, c, d]: [usize; 4]) -> usize {
    let result;
    // SAFETY: the four calls above read at most SIGNALS and write no memory.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d,
             options(nostack));
    }
    result
}

#[cfg(target_arch = "arm")]
fn call(number: usize, [a, b, c, d]: [usize; 4]) -> usize {
    let result;
    // SAFETY: the four calls above read at most SIGNALS and write no memory. Thumb code may use r7 as its
    // frame pointer, so it is put back.
    unsafe {
        asm!("mov {saved}, r7", "mov r7, {number}", "svc 0", "mov r7, {saved}",
             saved = out(reg) _, number = in(reg) number,
             inlateout("r0") a => result, in("r1") b, in("r2") c, in("r3") d, options(nostack));
    }
    result
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
