//! Assigns the nodes of a tree to skeletons as joints, given the skins that name some of them.

/// Groups of skins that share joints.
pub(crate) struct Groups {
    /// For each node, whether a skin names it as a joint.
    pub has_skin: Vec<bool>,
    /// The group of each skin.
    pub skin_groups: Vec<usize>,
    /// The first skin of each group.
    pub first_skins: Vec<usize>,
}

impl Groups {
    /// Groups the skins. `skins[s]` lists the joint nodes of skin `s`, each below `nodes`, the number of
    /// nodes.
    pub fn new(skins: &[&[usize]], nodes: usize) -> Groups {
        // The first skin that names each node; skins that share a node are joined into one group.
        let mut owner: Vec<Option<usize>> = vec![None; nodes];
        let mut group: Vec<usize> = (0..skins.len()).collect();
        for (s, joints) in skins.iter().enumerate() {
            for &joint in *joints {
                match owner[joint] {
                    None => owner[joint] = Some(s),
                    Some(other) => {
                        let (a, b) = (root_of(&mut group, s), root_of(&mut group, other));
                        group[a.max(b)] = a.min(b);
                    }
                }
            }
        }
        let mut number = vec![usize::MAX; skins.len()];
        let mut of_skin = Vec::with_capacity(skins.len());
        let mut firsts = Vec::new();
        for s in 0..skins.len() {
            let root = root_of(&mut group, s);
            if number[root] == usize::MAX {
                number[root] = firsts.len();
                firsts.push(s);
            }
            of_skin.push(number[root]);
        }
        Groups {
            has_skin: owner.iter().map(Option::is_some).collect(),
            skin_groups: of_skin,
            first_skins: firsts,
        }
    }
}

/// Returns the representative of a group, shortening paths on the way (union–find).
fn root_of(group: &mut [usize], mut s: usize) -> usize {
    while group[s] != s {
        group[s] = group[group[s]];
        s = group[s];
    }
    s
}

/// The relation of a node to the joints of a skeleton.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JointRelation {
    None,
    /// A joint lies below the node.
    Above,
    Joint,
    /// The node lies below a joint and carries nothing.
    Below,
}

/// The nodes of a file.
#[derive(Clone, Copy)]
pub(crate) struct NodeHierarchy<'a> {
    pub parents: &'a [Option<usize>],
    /// All node numbers, parents before children.
    pub order: &'a [usize],
}

/// The nodes of a skeleton, parents first, and for each node of the file its index among them.
pub(crate) type SkeletonNodes = (Vec<usize>, Vec<Option<usize>>);

impl NodeHierarchy<'_> {
    /// Returns the nodes of the skeleton with the joints `joints`: these, all nodes between and above them,
    /// and the nodes below them that carry nothing (as `carries` says; with `None`, no nodes below). Nodes
    /// above all joints that are nothing but a name (`is_idle`) are left out.
    pub fn skeleton_nodes(
        &self,
        joints: &[usize],
        carries: Option<&[bool]>,
        is_idle: impl Fn(usize) -> bool,
    ) -> SkeletonNodes {
        let mut marks = self.above(joints);
        if let Some(carries) = carries {
            self.mark_below(carries, &mut marks);
        }
        let (mut nodes, mut place) = (Vec::new(), vec![None; marks.len()]);
        for &node in self.order.iter().filter(|&&node| marks[node] != JointRelation::None) {
            let parent = self.parents[node].and_then(|p| place[p]);
            let idle = marks[node] == JointRelation::Above && is_idle(node);
            if parent.is_some() || !idle {
                place[node] = Some(nodes.len());
                nodes.push(node);
            }
        }
        (nodes, place)
    }

    /// Marks joints and the nodes above them.
    fn above(&self, joints: &[usize]) -> Vec<JointRelation> {
        let mut marks = vec![JointRelation::None; self.parents.len()];
        for &joint in joints {
            marks[joint] = JointRelation::Joint;
            let mut at = self.parents[joint];
            while let Some(node) = at.filter(|&node| marks[node] == JointRelation::None) {
                marks[node] = JointRelation::Above;
                at = self.parents[node];
            }
        }
        marks
    }

    /// Marks the nodes below joints that carry nothing.
    fn mark_below(&self, carries: &[bool], marks: &mut [JointRelation]) {
        for &node in self.order {
            let above = self.parents[node].map_or(JointRelation::None, |p| marks[p]);
            let hangs = matches!(above, JointRelation::Joint | JointRelation::Below);
            if marks[node] == JointRelation::None && hangs && !carries[node] {
                marks[node] = JointRelation::Below;
            }
        }
    }

    /// For each node, whether it or a node below it is marked in `own`.
    pub fn propagate_up(&self, mut own: Vec<bool>) -> Vec<bool> {
        for &node in self.order.iter().rev() {
            if let (true, Some(parent)) = (own[node], self.parents[node]) {
                own[parent] = true;
            }
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 0 ─ 1 ─ 2 ─ 3    4 is a child of 2 and carries something, 5 is a child of 3 and carries nothing
    const PARENTS: [Option<usize>; 6] = [None, Some(0), Some(1), Some(2), Some(2), Some(3)];
    const NODES: NodeHierarchy<'_> = NodeHierarchy { parents: &PARENTS, order: &[0, 1, 2, 3, 4, 5] };

    #[test]
    fn skins_that_share_a_joint_are_one_group() {
        let groups = Groups::new(&[&[1], &[3, 4], &[5], &[4, 1]], 6);
        assert_eq!((groups.skin_groups, groups.first_skins), (vec![0, 0, 1, 0], vec![0, 2]));
        assert_eq!(groups.has_skin, [false, true, false, true, true, true]);
    }

    #[test]
    fn what_is_above_between_and_below_belongs_to_a_skeleton() {
        let carries = NODES.propagate_up(vec![false, false, false, false, true, false]);
        assert_eq!(carries, [true, true, true, false, true, false]);
        let (nodes, place) = NODES.skeleton_nodes(&[1, 3], Some(&carries), |node| node == 0);
        assert_eq!(nodes, [1, 2, 3, 5]);
        assert_eq!(place, [None, Some(0), Some(1), Some(2), None, Some(3)]);
        assert_eq!(NODES.skeleton_nodes(&[3], None, |node| node == 1).0, [0, 1, 2, 3]);
    }
}
