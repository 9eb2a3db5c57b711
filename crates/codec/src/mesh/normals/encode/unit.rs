//! The bytes of an access unit of normals, from the states of its frames.

use crate::entropy::nibble;
use crate::entropy::nibble::NibbleCoder;
use crate::mesh::normals::packed::put_section;
use crate::mesh::normals::{Normals, width};

/// An access unit whose frames are added one by one, in its order.
pub struct UnitEncoder<'e> {
    normals: &'e Normals,
    refs: &'e [&'e [i16]],
    /// The number of the reference of each frame.
    references: Vec<usize>,
    states: Vec<Vec<i16>>,
}

impl<'e> UnitEncoder<'e> {
    /// Begins a unit. `refs` are the states of frames that the decoder will already have.
    pub(super) fn new(normals: &'e Normals, refs: &'e [&'e [i16]]) -> UnitEncoder<'e> {
        UnitEncoder { normals, refs, references: Vec::new(), states: Vec::new() }
    }

    /// Returns the states that the next frame may refer to, from number 1 on.
    pub(super) fn earlier(&self) -> Vec<&[i16]> {
        self.refs.iter().copied().chain(self.states.iter().map(Vec::as_slice)).collect()
    }

    /// Adds a frame with its states and the number of its reference. Returns the states.
    pub(super) fn push(&mut self, reference: usize, state: Vec<i16>) -> &[i16] {
        self.references.push(reference);
        self.states.push(state);
        &self.states[self.states.len() - 1]
    }

    /// Appends the bytes of the unit. Returns the states of its frames.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Vec<Vec<i16>> {
        let (normals, refs) = (self.normals, self.refs);
        if normals.packed {
            self.pack(out);
            return self.states;
        }
        let unchanged = self.states.iter().all(|state| *state == normals.base);
        if unchanged && self.references.iter().all(|reference| *reference == 0) {
            return self.states;
        }
        let (mut tables, mut symbols) = (normals.coding.tables(), nibble::Encoder::default());
        for (f, &number) in self.references.iter().enumerate() {
            let (done, rest) = self.states.split_at_mut(f);
            symbols.raw_bits(width(refs.len() + f), number as u32);
            let from = match number.checked_sub(1) {
                None => &normals.base[..],
                Some(i) => refs.get(i).copied().unwrap_or_else(|| &done[i - refs.len()]),
            };
            normals.frame(&mut symbols, &mut tables, from, &mut rest[0]);
        }
        symbols.finish(out);
        self.states
    }

    /// Appends an access unit of packed states.
    fn pack(&self, out: &mut Vec<u8>) {
        let (normals, refs, states) = (self.normals, self.refs, &self.states);
        let start = out.len();
        let groups = 2 * normals.groups();
        for (state, &number) in states.iter().zip(&self.references) {
            let from = match number.checked_sub(1) {
                None => &normals.base[..],
                Some(i) => refs.get(i).copied().unwrap_or_else(|| &states[i - refs.len()]),
            };
            out.push(number as u8);
            put_section::<2>(from[..groups].as_chunks().0, state[..groups].as_chunks().0, out);
            if normals.has_tangents() {
                put_section::<1>(from[groups..].as_chunks().0, state[groups..].as_chunks().0, out);
            }
        }
        let used = out[start..].iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        out.truncate(start + used);
    }
}
