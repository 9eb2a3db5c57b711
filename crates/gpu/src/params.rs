//! The parameters of a mesh at a moment, declared once here for Rust and WGSL.

macro_rules! uniform {
    ($(#[$of:meta])* $Name:ident { $($(#[$doc:meta])* $name:ident: $ty:ident,)* }) => {
        $(#[$of])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        #[non_exhaustive]
        pub struct $Name {
            $($(#[$doc])* #[allow(missing_docs)] pub $name: $ty,)*
        }

        impl $Name {
            /// The same struct in WGSL.
            pub(crate) const WGSL: &str =
                concat!("struct ", stringify!($Name), " {\n", $("  ", stringify!($name), ": ", stringify!($ty), ",\n",)* "}\n");
        }
    };
}
pub(crate) use uniform;

uniform! {
    /// The parameters of a mesh. Offsets and counts are in words of 32 bits; those of slots count from their
    /// start.
    Params {
        /// The numbers of points, vertices, groups of normals, and classes of tangents.
        points: u32,
        vertices: u32,
        groups: u32,
        classes: u32,
        /// The slots of the two frames in the ring.
        first: u32,
        second: u32,
        /// The blend weight between them, 0 … 1.
        blend: f32,
        /// The factor from the difference of the two frames to the change per second.
        per_second: f32,
        /// Offsets in a slot: positions or residuals of points, matrices of bones, codes of normals, states
        /// and turns, rotations of bones, uvs, colours.
        positions: u32,
        matrices: u32,
        normal_codes: u32,
        states: u32,
        turns: u32,
        rotations: u32,
        slot_uvs: u32,
        slot_colours: u32,
        /// The length of a unit of positions, and the position of zero; per axis for codes.
        unit_x: f32,
        unit_y: f32,
        unit_z: f32,
        centre_x: f32,
        centre_y: f32,
        centre_z: f32,
        /// The factor for edges, so that squares of areas stay finite.
        edge_scale: f32,
        /// The code of the middle of normals.
        half: u32,
        /// The steps of states and of turns, in radians; −1 if predicted normals are negated.
        step: f32,
        turn_step: f32,
        side: f32,
        /// The number of bones that turn normals.
        bones: u32,
        /// Fixed words of points that bones move: positions at rest; the end of each point's bones, and these
        /// with weights, or for single bones the bone of each; one plus the number of its residual.
        rest: u32,
        influence_ends: u32,
        influences: u32,
        residuals: u32,
        /// Fixed words: point, group and class of each vertex (the highest bit of a class: the sign is −1);
        /// static uvs and colours.
        vertex_points: u32,
        vertex_groups: u32,
        vertex_classes: u32,
        uvs: u32,
        colours: u32,
        /// Per group: the end of its corners, corners, the end of its corners in larger polygons, these; the
        /// end of polygons, their points; two points that give a direction.
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
        /// Per class: its group, its point; the end of its sum, and the items of that; the same for sums with
        /// many items.
        class_groups: u32,
        class_points: u32,
        sum_ends: u32,
        sums: u32,
        long_ends: u32,
        long_sums: u32,
        /// Per class its bone, and its tangent at rest.
        class_bones: u32,
        class_rest: u32,
        /// Offsets in the scratch between passes: points of both frames, normals of groups, tangents of
        /// classes.
        scratch_points: u32,
        scratch_normals: u32,
        scratch_tangents: u32,
        /// The first word of the vertices.
        out: u32,
        /// The offsets of the two frames in the ring of points.
        first_points: u32,
        second_points: u32,
        /// Fixed words: the mesh's bounds, low and one divided by their size; 6 values.
        bounds: u32,
        /// Fixed words of packed transforms: for each part its middle, the remainder of that in f64, and its
        /// last transform; low and size of the box of these, the largest scale, one divided by the unit in
        /// two words. The number of parts.
        packed: u32,
        packed_ends: u32,
        packed_parts: u32,
    }
}

/// The bytes of the parameters of a mesh, and the stride between them: WebGPU's largest alignment of a
/// uniform binding with an offset, which the text for vertex shaders uses.
pub const PARAMS_BYTES: usize = size_of::<Params>();

const _: () = assert!(PARAMS_BYTES == 256);

impl Params {
    /// Returns the parameters for a mesh whose fixed words and scratch begin at these words.
    pub(crate) fn offset_by(mut self, fixed: u32, scratch: u32) -> Params {
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
