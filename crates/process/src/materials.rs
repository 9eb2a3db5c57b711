//! Materials from face sets: each face belongs to one, faces in no set to a nameless one.
//!
//! The id is the first number in the set's name (`mtl_07_glass` → 7), else the index of the set. A face in
//! several sets belongs to the first of them.

/// A material of a mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Material {
    /// The first number in the name, else the index of the set.
    pub id: u32,
    /// The set's name; empty for faces in no set.
    pub name: String,
}

/// The material of each face.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assignment {
    /// By face of the source, an index into `materials`.
    pub face_material: Vec<u32>,
    /// Materials in the order of the sets; the one for faces in no set comes last. Each has at least one
    /// face, except that a mesh without faces has the nameless one.
    pub materials: Vec<Material>,
    /// Sentences for remarks.
    pub remarks: Vec<String>,
}

/// Assigns materials to `faces` faces from sets, given by name and face numbers.
pub fn assign<'a>(sets: impl IntoIterator<Item = (&'a str, &'a [i32])>, faces: usize) -> Assignment {
    let mut out = Assignment { face_material: vec![ABSENT; faces], ..Assignment::default() };
    let mut free = faces;
    for (order, (name, members)) in sets.into_iter().enumerate() {
        let material = out.materials.len() as u32;
        let (mut taken, mut outside, mut shared) = (0u64, 0u64, 0u64);
        for &face in members {
            match usize::try_from(face).ok().and_then(|f| out.face_material.get_mut(f)) {
                None => outside += 1,
                Some(slot) if *slot == ABSENT => {
                    *slot = material;
                    taken += 1;
                }
                // A face listed twice in one set is harmless.
                Some(slot) => shared += u64::from(*slot != material),
            }
        }
        if outside > 0 {
            out.remarks
                .push(format!("face set {name:?}: {outside} face numbers that do not exist are ignored"));
        }
        if shared > 0 {
            out.remarks.push(format!(
                "face set {name:?}: {shared} faces are in an earlier face set too, which they stay in"
            ));
        }
        if taken > 0 {
            free -= taken as usize;
            out.materials
                .push(Material { id: first_number(name).unwrap_or(order as u32), name: name.to_owned() });
        }
    }
    if free > 0 || out.materials.is_empty() {
        let rest = out.materials.len() as u32;
        out.face_material.iter_mut().filter(|m| **m == ABSENT).for_each(|m| *m = rest);
        // A number that no set has, so that the nameless material differs from all of them.
        let mut id = rest;
        while out.materials.iter().any(|m| m.id == id) {
            id = id.wrapping_add(1);
        }
        out.materials.push(Material { id, name: String::new() });
    }
    out
}

const ABSENT: u32 = u32::MAX;

/// Returns the first run of decimal digits; `None` if there is none or it is above `u32::MAX`.
fn first_number(name: &str) -> Option<u32> {
    let begin = name.find(|c: char| c.is_ascii_digit())?;
    let digits = &name[begin..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(assignment: &Assignment) -> Vec<(u32, &str)> {
        assignment.materials.iter().map(|m| (m.id, m.name.as_str())).collect()
    }

    #[test]
    fn numbers_in_names() {
        for (name, id) in [
            ("mtl_07_glass", Some(7)),
            ("7", Some(7)),
            ("wall", None),
            ("", None),
            ("a99999999999b3", None),
            ("größe12x3", Some(12)),
        ] {
            assert_eq!(first_number(name), id, "{name}");
        }
    }

    #[test]
    fn first_set_wins_rest_gets_its_own() {
        let sets: [(&str, &[i32]); 4] =
            [("m5", &[0, 1, 1]), ("empty", &[]), ("glass", &[1, 2, -1, 99]), ("lost", &[0, 2])];
        let a = assign(sets, 5);
        assert_eq!(a.face_material, [0, 0, 1, 2, 2]);
        assert_eq!(ids(&a), [(5, "m5"), (2, "glass"), (3, "")]);
        assert_eq!(a.remarks.len(), 3);
        assert!(a.remarks[0].contains("2 face numbers"));
    }

    #[test]
    fn no_sets() {
        let a = assign([], 3);
        assert_eq!(a.face_material, [0; 3]);
        assert_eq!(ids(&a), [(0, "")]);
        assert_eq!(ids(&assign([], 0)), [(0, "")]);
        let all: [(&str, &[i32]); 1] = [("1", &[0, 1, 2])];
        assert_eq!(ids(&assign(all, 3)), [(1, "1")]);
        let rest = assign(all, 4);
        assert_eq!(ids(&rest), [(1, "1"), (2, "")]);
    }
}
