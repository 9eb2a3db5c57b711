//! The parameters of a mesh in a moment, one uniform binding of a dispatch: written once here, for Rust and WGSL.

macro_rules! uniform {
    ($(#[$of:meta])* $Name:ident { $($(#[$doc:meta])* $name:ident: $ty:ident,)* }) => {
        $(#[$of])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        pub struct $Name {
            $($(#[$doc])* #[allow(missing_docs)] pub $name: $ty,)*
        }

        impl $Name {
            /// The same in WGSL.
            pub(crate) const WGSL: &str =
                concat!("struct ", stringify!($Name), " {\n", $("  ", stringify!($name), ": ", stringify!($ty), ",\n",)* "}\n");
        }
    };
}
pub(crate) use uniform;

uniform! {
    /// Parameters of a dispatch. Offsets and counts are in words of 32 bits; those of slots count from their start.
    Params {
        /// Points, vertices, groups of normals, classes of tangents.
        points: u32,
        vertices: u32,
        groups: u32,
        classes: u32,
        /// Slots of the two frames in the ring.
        first: u32,
        second: u32,
        /// Between them, 0 … 1.
        blend: f32,
        /// From the difference of the two frames to what changes in a second.
        per_second: f32,
        /// In a slot: positions or residuals of points, matrices of bones, codes of normals, states and turns, rotations
        /// of bones, uvs, colours.
        positions: u32,
        matrices: u32,
        normal_codes: u32,
        states: u32,
        turns: u32,
        rotations: u32,
        slot_uvs: u32,
        slot_colours: u32,
        /// Length of a unit of positions, where zero is; of codes one each.
        unit_x: f32,
        unit_y: f32,
        unit_z: f32,
        centre_x: f32,
        centre_y: f32,
        centre_z: f32,
        /// What edges are multiplied by, so that squares of areas stay finite.
        edge_scale: f32,
        /// Code of the middle of normals.
        half: u32,
        /// Steps of states and of turns, radians; −1 where predicted normals look the other way.
        step: f32,
        turn_step: f32,
        side: f32,
        /// Number of bones that turn normals.
        bones: u32,
        /// Fixed words of points that bones move: positions at rest; where a point's bones end, these with weights, or
        /// of one bone each that; one more than the number of its residual.
        rest: u32,
        influence_ends: u32,
        influences: u32,
        residuals: u32,
        /// Fixed words: point, group and class of each vertex (the highest bit of a class: the sign is −1); uvs and
        /// colours that stand still.
        vertex_points: u32,
        vertex_groups: u32,
        vertex_classes: u32,
        uvs: u32,
        colours: u32,
        /// Per group: where its corners end, corners, where its corners in larger polygons end, these; where polygons
        /// end, their points; two points that give a direction.
        corner_ends: u32,
        corners: u32,
        large_ends: u32,
        large_corners: u32,
        polygon_ends: u32,
        polygons: u32,
        anchors: u32,
        /// Per group its bone, and its normal at rest.
        group_bones: u32,
        group_rest: u32,
        /// Per class: its group, its point; where its sum ends, and the items of that; the same of those with many.
        class_groups: u32,
        class_points: u32,
        sum_ends: u32,
        sums: u32,
        long_ends: u32,
        long_sums: u32,
        /// Per class its bone, and its tangent at rest.
        class_bones: u32,
        class_rest: u32,
        /// In the buffer between passes: points of both frames, normals of groups, tangents of classes.
        scratch_points: u32,
        scratch_normals: u32,
        scratch_tangents: u32,
        /// First word of the vertices.
        out: u32,
        /// Points of the two frames in the ring of points.
        first_points: u32,
        second_points: u32,
        /// Fixed words: where the mesh's bounds begin, and one divided by their size; 6 numbers.
        bounds: u32,
        /// Fixed words of packed transforms: of each part its middle and its last transform; low and size of the
        /// places of these, and the largest scale. Number of parts.
        packed: u32,
        packed_ends: u32,
        packed_parts: u32,
    }
}

/// Bytes of the parameters of one dispatch.
pub const SIZE: usize = size_of::<Params>();

/// Bytes from one to the next: WebGPU's largest alignment of a uniform binding with an offset.
pub const STRIDE: usize = SIZE.next_multiple_of(256);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_of_vectors() {
        assert_eq!(SIZE % 16, 0);
    }
}
