//! A small assembler for BPF: the instructions that our program needs, and jumps to labels.

/// One instruction, as the kernel reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Insn {
    pub code: u8,
    /// Destination register in the lower four bits, source register in the upper ones.
    pub registers: u8,
    pub offset: i16,
    pub value: i32,
}

pub const DW: u8 = 0x18;
pub const W: u8 = 0x00;
pub const H: u8 = 0x08;
pub const B: u8 = 0x10;

pub const LOAD: u8 = 0x61;
pub const STORE: u8 = 0x63;
pub const STORE_VALUE: u8 = 0x62;
pub const MOVE: u8 = 0xbf;
pub const MOVE_VALUE: u8 = 0xb7;
pub const ADD: u8 = 0x0f;
pub const ADD_VALUE: u8 = 0x07;
pub const AND_VALUE: u8 = 0x57;
pub const LOAD_WIDE: u8 = DW;
pub const CALL: u8 = 0x85;
pub const EXIT: u8 = 0x95;
pub const JUMP: u8 = 0x05;
pub const JUMP_EQUAL: u8 = 0x15;
pub const JUMP_UNEQUAL: u8 = 0x55;
pub const JUMP_GREATER: u8 = 0x2d;
pub const JUMP_GREATER_VALUE: u8 = 0x25;

/// Says that the value of a wide load is the descriptor of a map.
pub const MAP: u8 = 1;

/// A jump's target, which may be set after the jump.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Label(pub u8);

/// A program that is being written.
#[derive(Default)]
pub struct Assembler {
    code: Vec<Insn>,
    /// Jumps, by the index of their instruction.
    jumps: Vec<(usize, Label)>,
    labels: Vec<(Label, usize)>,
}

impl Assembler {
    fn add_insn(&mut self, code: u8, (to, from): (u8, u8), offset: i16, value: i32) {
        self.code.push(Insn { code, registers: from << 4 | to, offset, value });
    }

    /// `to` = what lies `offset` bytes from where `from` points.
    pub fn load(&mut self, size: u8, to: u8, from: u8, offset: i16) {
        self.add_insn(LOAD & !DW | size, (to, from), offset, 0);
    }

    pub fn store(&mut self, size: u8, at: u8, offset: i16, from: u8) {
        self.add_insn(STORE & !DW | size, (at, from), offset, 0);
    }

    pub fn store_value(&mut self, size: u8, at: u8, offset: i16, value: i32) {
        self.add_insn(STORE_VALUE & !DW | size, (at, 0), offset, value);
    }

    pub fn set(&mut self, to: u8, from: u8) {
        self.add_insn(MOVE, (to, from), 0, 0);
    }

    pub fn set_value(&mut self, to: u8, value: i32) {
        self.add_insn(MOVE_VALUE, (to, 0), 0, value);
    }

    pub fn add(&mut self, to: u8, from: u8) {
        self.add_insn(ADD, (to, from), 0, 0);
    }

    pub fn add_value(&mut self, to: u8, value: i32) {
        self.add_insn(ADD_VALUE, (to, 0), 0, value);
    }

    pub fn and_value(&mut self, to: u8, value: i32) {
        self.add_insn(AND_VALUE, (to, 0), 0, value);
    }

    /// `to` = the map with this descriptor.
    pub fn map(&mut self, to: u8, descriptor: i32) {
        self.add_insn(LOAD_WIDE, (to, MAP), 0, descriptor);
        self.add_insn(0, (0, 0), 0, 0);
    }

    pub fn call(&mut self, function: i32) {
        self.add_insn(CALL, (0, 0), 0, function);
    }

    pub fn exit(&mut self) {
        self.add_insn(EXIT, (0, 0), 0, 0);
    }

    fn jump_with(&mut self, code: u8, registers: (u8, u8), value: i32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.add_insn(code, registers, 0, value);
    }

    pub fn jump(&mut self, label: Label) {
        self.jump_with(JUMP, (0, 0), 0, label);
    }

    pub fn jump_equal(&mut self, register: u8, value: i32, label: Label) {
        self.jump_with(JUMP_EQUAL, (register, 0), value, label);
    }

    pub fn jump_unequal(&mut self, register: u8, value: i32, label: Label) {
        self.jump_with(JUMP_UNEQUAL, (register, 0), value, label);
    }

    /// Jumps when `register` > `other`.
    pub fn jump_greater(&mut self, register: u8, other: u8, label: Label) {
        self.jump_with(JUMP_GREATER, (register, other), 0, label);
    }

    /// Jumps when `register` > `value`, both without sign.
    pub fn jump_greater_value(&mut self, register: u8, value: i32, label: Label) {
        self.jump_with(JUMP_GREATER_VALUE, (register, 0), value, label);
    }

    /// What follows is where `label` leads.
    pub fn label(&mut self, label: Label) {
        self.labels.push((label, self.code.len()));
    }

    /// The program. `None`: a label was never set.
    pub fn finish(mut self) -> Option<Vec<Insn>> {
        for (at, label) in self.jumps {
            let target = self.labels.iter().find(|(l, _)| *l == label)?.1;
            self.code[at].offset = i16::try_from(target as isize - at as isize - 1).ok()?;
        }
        Some(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_what_the_kernel_reads() {
        let mut a = Assembler::default();
        a.load(H, 1, 7, 12);
        a.store(W, 10, -8, 1);
        a.store_value(W, 10, -4, 5);
        a.jump_unequal(1, 8, Label(0));
        a.set_value(0, 2);
        a.label(Label(0));
        a.exit();
        let of = |code, registers, offset, value| Insn { code, registers, offset, value };
        let expected = [
            of(0x69, 0x71, 12, 0),
            of(0x63, 0x1a, -8, 0),
            of(0x62, 0x0a, -4, 5),
            of(0x55, 0x01, 1, 8),
            of(0xb7, 0x00, 0, 2),
            of(0x95, 0, 0, 0),
        ];
        assert_eq!(a.finish().unwrap(), expected);
        assert_eq!(size_of::<Insn>(), 8);
    }

    #[test]
    fn a_label_that_is_not_set_is_found() {
        let mut a = Assembler::default();
        a.jump(Label(3));
        assert!(a.finish().is_none());
    }
}
