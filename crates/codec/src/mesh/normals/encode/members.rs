//! Vertices by group: those that have equal normals in all frames.

/// The vertices of each group.
#[derive(Debug, Clone)]
pub(super) struct Members {
    list: Vec<u32>,
    /// The start of each group's vertices, and the end of the last.
    starts: Vec<u32>,
}

impl Members {
    pub(super) fn new(group: &[u32], groups: usize) -> Members {
        let mut starts = vec![0; groups + 1];
        group.iter().for_each(|g| starts[*g as usize + 1] += 1);
        for g in 0..groups {
            starts[g + 1] += starts[g];
        }
        let (mut next, mut list) = (starts.clone(), vec![0; group.len()]);
        for (v, g) in (0..).zip(group) {
            let at = &mut next[*g as usize];
            list[*at as usize] = v;
            *at += 1;
        }
        Members { list, starts }
    }

    /// Returns the number of groups.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn vertices(&self, g: usize) -> &[u32] {
        &self.list[self.starts[g] as usize..self.starts[g + 1] as usize]
    }

    pub(super) fn first(&self, g: usize) -> usize {
        self.list[self.starts[g] as usize] as usize
    }
}
