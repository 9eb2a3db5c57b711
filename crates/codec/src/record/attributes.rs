//! Part attributes: values that are equal all over a part of a mesh, such as temperature, viscosity, age. One
//! to four numbers per group of vertices and frame, within the tolerance that the encoder measured. A group
//! is a rigid part, or all vertices that always have the same numbers. Attributes belong to nodes, so that
//! nodes with the same mesh may differ in them.
//!
//! *text*, *list* as in [`crate::record`]. A chunk holds, in order, for each node that has attributes and is
//! not listed with an earlier one: a varint number of the node, a varint size, and that many bytes:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | list | `also` | varints: other nodes that show the same mesh and have the same attributes, in rising order, each minus the one before, the first minus the node |
//! | … | list | `attributes` | |
//! | … | rest | `tracks` | as of a [clip](#scalar-tracks-and-markers) 0 with as many `samples` as the file has frames: without markers, one track without name for each group of each attribute, in order |
//!
//! An attribute:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `name` | |
//! | … | 1 | `form` | bits 0–1 components minus 1 · bits 2–3 groups are of: 0 the mesh, 1 its parts, 2 its vertices |
//! | … | 1 … 5 or 0 | `groups` | not for the mesh, which is one group: varint, number of groups |
//! | … | 1 … 5 each | `group` | for parts: for each `rigid` bone a varint, its group. For vertices: for each vertex a varint, zigzag of its group minus that of the vertex before, 0 before the first |

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
use crate::clip::scalars::{self, ScalarTrack, ScalarsRecord};
use crate::quantize::code::Code;

/// The extent of an attribute's groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeGroups {
    /// One group: the whole mesh.
    Mesh,
    /// The group of each part.
    Parts(Vec<u32>),
    /// The group of each vertex.
    Vertices(Vec<u32>),
}

/// A part attribute: one to four numbers per group and frame.
#[derive(Clone, Debug, PartialEq)]
pub struct PartAttributeRecord {
    /// The name.
    pub name: String,
    /// The number of values per group, 1 … 4.
    pub components: usize,
    /// The groups.
    pub groups: AttributeGroups,
    /// The values of each group; all tracks have as many components, and empty names.
    pub tracks: Vec<ScalarTrack>,
}

/// Appends the attributes that all of `nodes`, in rising order, have in common. Animated components have
/// `frames` values.
#[cfg(feature = "encode")]
pub fn encode(nodes: &[u32], attributes: &[PartAttributeRecord], frames: u32, out: &mut Vec<u8>) {
    put_varint(nodes.len().saturating_sub(1) as u32, out);
    nodes.windows(2).for_each(|pair| put_varint(pair[1] - pair[0], out));
    put_varint(attributes.len() as u32, out);
    let mut all = ScalarsRecord { samples: frames, ..ScalarsRecord::default() };
    for attribute in attributes {
        put_length_prefixed(attribute.name.as_bytes(), out);
        let of = match attribute.groups {
            AttributeGroups::Mesh => 0,
            AttributeGroups::Parts(_) => 1,
            AttributeGroups::Vertices(_) => 2,
        };
        out.push((attribute.components - 1) as u8 & 3 | of << 2);
        if of > 0 {
            put_varint(attribute.tracks.len() as u32, out);
        }
        match &attribute.groups {
            AttributeGroups::Mesh => {}
            AttributeGroups::Parts(groups) => groups.iter().for_each(|&g| put_varint(g, out)),
            AttributeGroups::Vertices(groups) => {
                let mut before = 0;
                for &group in groups {
                    put_varint(group.wrapping_sub(before).zigzag(), out);
                    before = group;
                }
            }
        }
        all.tracks.extend(attribute.tracks.iter().cloned());
    }
    scalars::encode(&all, out);
}

/// Decodes all of `bytes`, for a node whose mesh has this many vertices and parts, in a file of `frames`
/// frames. Returns the nodes that share the attributes, this node first, and the attributes.
pub fn decode(
    bytes: &[u8],
    node: u32,
    [vertices, parts]: [u32; 2],
    frames: u32,
) -> Result<(Vec<u32>, Vec<PartAttributeRecord>), Corrupt> {
    let mut cursor = Cursor::new(bytes);
    let mut nodes = vec![node];
    for _ in 0..cursor.varint()? {
        let step = cursor.varint()?;
        let next = nodes[nodes.len() - 1].checked_add(step).filter(|_| step > 0);
        nodes.push(next.ok_or(Corrupt("part attributes: nodes out of order"))?);
    }
    let mut attributes = Vec::new();
    let mut groups_of = Vec::new();
    for _ in 0..cursor.varint()? {
        let size = cursor.varint()? as usize;
        let name = String::from_utf8(cursor.bytes(size)?.to_vec())
            .map_err(|_| Corrupt("part attributes: a name is not UTF-8"))?;
        let form = cursor.u8()?;
        let groups = match form >> 2 {
            0 => 1,
            _ => cursor.varint()?,
        };
        // Each group takes at least a byte, so no more memory is allocated than the input justifies.
        let mut list = |count: u32, from: fn(u32, u32) -> u32| {
            let mut list = Vec::new();
            let mut before = 0;
            for _ in 0..count {
                before = from(before, cursor.varint()?);
                if before >= groups {
                    return Err(Corrupt("part attributes: a group that an attribute does not have"));
                }
                list.push(before);
            }
            Ok(list)
        };
        let of = match form >> 2 {
            0 => AttributeGroups::Mesh,
            1 => AttributeGroups::Parts(list(parts, |_, own| own)?),
            2 => AttributeGroups::Vertices(list(vertices, |before, step| {
                before.wrapping_add(step.unzigzag())
            })?),
            _ => return Err(Corrupt("part attributes: an attribute of unknown groups")),
        };
        groups_of.push(groups as usize);
        attributes.push(PartAttributeRecord {
            name,
            components: usize::from(form & 3) + 1,
            groups: of,
            tracks: Vec::new(),
        });
    }
    let left = cursor.left();
    let all = scalars::decode(cursor.bytes(left)?)?;
    let named = all.tracks.iter().any(|track| !track.name.is_empty());
    if all.clip != 0 || all.samples != frames || !all.markers.is_empty() || named {
        return Err(Corrupt("part attributes: tracks of something else"));
    }
    let mut tracks = all.tracks.into_iter();
    for (attribute, groups) in attributes.iter_mut().zip(groups_of) {
        attribute.tracks = tracks.by_ref().take(groups).collect();
        let fits = |track: &ScalarTrack| track.components.len() == attribute.components;
        if attribute.tracks.len() != groups || !attribute.tracks.iter().all(fits) {
            return Err(Corrupt("part attributes: tracks that do not fit"));
        }
    }
    match tracks.next() {
        None => Ok((nodes, attributes)),
        Some(_) => Err(Corrupt("part attributes: more tracks than groups")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::scalars::ScalarComponent;
    use proptest::prelude::*;

    const FRAMES: u32 = 6;

    fn track(components: usize, seed: i32) -> ScalarTrack {
        let component = |i: usize| match (seed as usize + i) % 3 {
            0 => ScalarComponent::Zero,
            1 => ScalarComponent::Constant(seed as f32 / 4.0),
            _ => ScalarComponent::Animated {
                low: -1.0,
                step: 0.25,
                k: (0..FRAMES as i32).map(|k| k * seed).collect(),
            },
        };
        ScalarTrack { name: String::new(), components: (0..components).map(component).collect() }
    }

    fn some(seed: i32) -> Vec<PartAttributeRecord> {
        let tracks = |components, count| (0..count).map(|t| track(components, t + seed)).collect();
        vec![
            PartAttributeRecord {
                name: "age".into(),
                components: 1,
                groups: AttributeGroups::Mesh,
                tracks: tracks(1, 1),
            },
            PartAttributeRecord {
                name: "heat".into(),
                components: 3,
                groups: AttributeGroups::Parts(vec![2, 0, 1]),
                tracks: tracks(3, 3),
            },
            PartAttributeRecord {
                name: "é".into(),
                components: 4,
                groups: AttributeGroups::Vertices(vec![0, 0, 1, 1, 0]),
                tracks: tracks(4, 2),
            },
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn e11_attributes_come_back_and_damage_is_refused(seed in 0i32..9) {
            let attributes = some(seed);
            let mut bytes = Vec::new();
            let nodes = vec![7, 8, 300];
            encode(&nodes, &attributes, FRAMES, &mut bytes);
            prop_assert_eq!(decode(&bytes, 7, [5, 3], FRAMES), Ok((nodes, attributes)));
            for (sizes, frames) in [([4, 3], 6), ([6, 3], 6), ([5, 2], 6), ([5, 4], 6), ([5, 3], 7)] {
                prop_assert!(decode(&bytes, 7, sizes, frames).is_err());
            }
            prop_assert!(decode(&bytes, u32::MAX, [5, 3], FRAMES).is_err());
            for end in 0..bytes.len() {
                prop_assert!(decode(&bytes[..end], 7, [5, 3], FRAMES).is_err());
            }
            for bit in 0..8 * bytes.len() {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                for attribute in decode(&bytes, 7, [5, 3], FRAMES).into_iter().flat_map(|d| d.1) {
                    attribute.tracks.iter().for_each(|t| { t.values(usize::MAX); });
                }
            }
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, 7, [5, 3], FRAMES);
        }
    }

    #[test]
    fn golden() {
        let attribute = PartAttributeRecord {
            name: "t".into(),
            components: 1,
            groups: AttributeGroups::Vertices(vec![0, 1, 1]),
            tracks: vec![track(1, 0), track(1, 4)],
        };
        let mut bytes = Vec::new();
        encode(&[3, 5], &[attribute], 2, &mut bytes);
        let wanted = [1, 2, 1, 1, b't', 8, 2, 0, 2, 0, 0, 2, 2, 0, 1, 0, 2, 0, 0, 0x80, 0x3F, 0];
        assert_eq!(bytes[..wanted.len()], wanted);
    }
}
