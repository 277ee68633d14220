//! Runs our program on one frame, for tests. Whatever the kernel's verifier forbids fails.

use crate::insn::*;
use crate::program::{DATA, DATA_END, KEY, LENGTH, LOOKUP, PASS, QUEUE, REDIRECT};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    Redirect(u32),
}

/// Where each kind of memory begins: far apart, so that a wrong pointer hits none.
const FRAME: u64 = 0x1000_0000;
const STACK: u64 = 0x2000_0000;
const CONTEXT: u64 = 0x3000_0000;
const VALUES: u64 = 0x4000_0000;
const STACK_SIZE: u64 = 512;

pub struct Machine<'a> {
    endpoints: &'a [([u8; KEY], u32)],
    frame: &'a [u8],
    /// Bytes of the frame that are in pieces which the program does not see.
    behind: usize,
    queue: u32,
    stack: [u8; STACK_SIZE as usize],
    registers: [u64; 11],
}

impl<'a> Machine<'a> {
    pub fn new(
        endpoints: &'a [([u8; KEY], u32)],
        frame: &'a [u8],
        behind: usize,
        queue: u32,
    ) -> Machine<'a> {
        let mut registers = [0; 11];
        registers[1] = CONTEXT;
        registers[10] = STACK + STACK_SIZE;
        Machine { endpoints, frame, behind, queue, stack: [0; STACK_SIZE as usize], registers }
    }

    fn bytes(&self, at: u64, len: usize) -> u64 {
        let slice = |memory: &[u8], base: u64| {
            let from = (at - base) as usize;
            let mut value = [0; 8];
            value[..len].copy_from_slice(&memory[from..from + len]);
            u64::from_le_bytes(value)
        };
        match at {
            VALUES.. => slice(&self.endpoints[(at - VALUES) as usize / 4].1.to_le_bytes(), at),
            CONTEXT.. => self.context(at - CONTEXT, len),
            STACK.. => slice(&self.stack, STACK),
            _ => slice(self.frame, FRAME),
        }
    }

    fn context(&self, offset: u64, len: usize) -> u64 {
        assert_eq!(len, 4, "the argument is read in words");
        match offset as i16 {
            DATA => FRAME,
            DATA_END => FRAME + self.frame.len() as u64,
            QUEUE => u64::from(self.queue),
            other => panic!("nothing at offset {other} of the argument"),
        }
    }

    fn store(&mut self, at: u64, len: usize, value: u64) {
        let from = at.checked_sub(STACK).expect("stores go to the stack") as usize;
        self.stack[from..from + len].copy_from_slice(&value.to_le_bytes()[..len]);
    }

    fn call(&mut self, function: i32, endpoints: i32, sockets: i32) -> Option<Verdict> {
        let map = self.registers[1] as i32;
        let mut verdict = None;
        self.registers[0] = match function {
            LENGTH => {
                assert_eq!(self.registers[1], CONTEXT);
                (self.frame.len() + self.behind) as u64
            }
            LOOKUP => {
                assert_eq!(map, endpoints);
                let from = (self.registers[2] - STACK) as usize;
                let key = &self.stack[from..from + KEY];
                let found = self.endpoints.iter().position(|(k, _)| k == key);
                found.map_or(0, |index| VALUES + 4 * index as u64)
            }
            REDIRECT => {
                assert_eq!((map, self.registers[3]), (sockets, PASS as u64));
                verdict = Some(Verdict::Redirect(self.registers[2] as u32));
                4
            }
            other => panic!("function {other}"),
        };
        // As the verifier has it: what a function may change can't be read after it.
        self.registers[1..6].fill(u64::MAX);
        verdict
    }

    pub fn run(mut self, program: &[Insn], endpoints: i32, sockets: i32) -> Verdict {
        let (mut at, mut redirect) = (0, None);
        loop {
            let Insn { code, registers, offset, value } = program[at];
            let (to, from) = ((registers & 15) as usize, (registers >> 4) as usize);
            let width = |code: u8| [4, 2, 1][usize::from((code & DW) >> 3)];
            let address = |base: u64| base.wrapping_add_signed(i64::from(offset));
            at += 1;
            let r = &mut self.registers;
            let jumps = match code {
                MOVE => {
                    r[to] = r[from];
                    false
                }
                MOVE_VALUE => {
                    r[to] = value as u64;
                    false
                }
                ADD => {
                    r[to] = r[to].wrapping_add(r[from]);
                    false
                }
                ADD_VALUE => {
                    r[to] = r[to].wrapping_add_signed(i64::from(value));
                    false
                }
                AND_VALUE => {
                    r[to] &= value as u64;
                    false
                }
                LOAD_WIDE => {
                    r[to] = value as u64;
                    at += 1;
                    false
                }
                JUMP => true,
                JUMP_EQUAL => r[to] == value as u64,
                JUMP_UNEQUAL => r[to] != value as u64,
                JUMP_GREATER => r[to] > r[from],
                JUMP_GREATER_VALUE => r[to] > value as u64,
                EXIT if r[0] == PASS as u64 => return Verdict::Pass,
                EXIT => return redirect.expect("no other result"),
                CALL => {
                    redirect = self.call(value, endpoints, sockets);
                    false
                }
                _ if code & !DW == LOAD & !DW => {
                    let found = self.bytes(address(self.registers[from]), width(code));
                    self.registers[to] = found;
                    false
                }
                _ if code & !DW == STORE & !DW => {
                    self.store(address(self.registers[to]), width(code), self.registers[from]);
                    false
                }
                _ if code & !DW == STORE_VALUE & !DW => {
                    self.store(address(self.registers[to]), width(code), value as u32 as u64);
                    false
                }
                other => panic!("instruction {other:#x}"),
            };
            if jumps {
                assert!(offset > 0, "loops are not ours");
                at += offset as usize;
            }
        }
    }
}
