//! The parameters of a mesh in a moment: written once here, for Rust and WGSL.

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
    /// Parameters of a mesh. Offsets and counts are in words of 32 bits; those of slots count from their start.
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
        /// Fixed words of packed transforms: of each part its middle, what that is more in f64, and its last transform;
        /// low and size of the places of these, the largest scale, one divided by the unit in two words. Number of parts.
        packed: u32,
        packed_ends: u32,
        packed_parts: u32,
    }
}

/// Bytes of the parameters of a mesh, and from one to the next: WebGPU's largest alignment of a uniform binding with an
/// offset, which the text for vertex shaders has.
pub const SIZE: usize = size_of::<Params>();

const _: () = assert!(SIZE == 256);

impl Params {
    /// Of a mesh whose fixed words, and what lies between its passes, begin at these words.
    pub(crate) fn placed(mut self, fixed: u32, scratch: u32) -> Params {
        let of_fixed = [
            &mut self.rest,
            &mut self.influence_ends,
            &mut self.influences,
            &mut self.residuals,
            &mut self.vertex_points,
            &mut self.vertex_groups,
            &mut self.vertex_classes,
            &mut self.uvs,
            &mut self.colours,
            &mut self.corner_ends,
            &mut self.corners,
            &mut self.large_ends,
            &mut self.large_corners,
            &mut self.polygon_ends,
            &mut self.polygons,
            &mut self.anchors,
            &mut self.group_bones,
            &mut self.group_rest,
            &mut self.class_groups,
            &mut self.class_points,
            &mut self.sum_ends,
            &mut self.sums,
            &mut self.long_ends,
            &mut self.long_sums,
            &mut self.class_bones,
            &mut self.class_rest,
            &mut self.bounds,
            &mut self.packed,
            &mut self.packed_ends,
        ];
        of_fixed.into_iter().for_each(|at| *at += fixed);
        for at in [&mut self.scratch_points, &mut self.scratch_normals, &mut self.scratch_tangents] {
            *at += scratch;
        }
        self
    }
}
