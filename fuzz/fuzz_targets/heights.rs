//! Height fields: any heights over any plane to bytes and back; and any bytes as a static part.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::mesh::encode::{EncodeBuffers, Encoder, Options, PositionSource};
use meshreel_codec::mesh::height::{self, HeightFieldPlane};
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::table_sets::TableSets;
use meshreel_codec::quantize::fixed_point::FixedPoint;
use meshreel_codec::quantize::lattice::{Extent, FixedPointGrid, Lattice, LatticeChoice};
use meshreel_codec::topology::grid::GridShape;
use meshreel_fuzz::Numbers;

/// One frame of heights over a plane.
struct Field<'a> {
    plane: HeightFieldPlane,
    places: &'a [[u32; 2]],
    order: &'a [u32],
    points: Vec<[f32; 3]>,
}

impl PositionSource for Field<'_> {
    fn positions(&self, _: u32, out: &mut [[f32; 3]]) {
        out.copy_from_slice(&self.points);
    }
    fn outside_prediction(&self, _: u32, grid: &FixedPointGrid, out: &mut [[i32; 3]]) -> bool {
        if let Some(flat) = self.plane.to_fixed_point::<i16>(self.places, self.order, grid) {
            out.copy_from_slice(&flat.base);
        }
        true
    }
    fn axis(&self) -> Option<usize> {
        Some(self.plane.axis)
    }
}

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let shape = GridShape {
        width: 2 + u32::from(numbers.u8() % 7),
        height: 2 + u32::from(numbers.u8() % 7),
        closed: false,
        reversed: false,
    };
    let (places, points) = (shape.columns_and_rows(), shape.width * shape.height);
    let number = |at: [u32; 2]| places.iter().position(|&p| p == at).unwrap_or(0) as u32;
    let cells = (0..shape.height - 1).flat_map(|j| (0..shape.width - 1).map(move |i| [i, j]));
    let triangles: Vec<u32> = cells
        .flat_map(|[i, j]| {
            let [a, b, c, d] = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(number);
            [a, b, c, a, c, d]
        })
        .collect();
    let hierarchy = hierarchy::build(points, &triangles);
    let mut small = || f32::from(numbers.u8() as i8) / 16.0;
    let sides = [(); 2].map(|()| [small() * 20.0, small(), small()]);
    let heights: Vec<f32> = (0..points).map(|_| small()).collect();
    let plane = HeightFieldPlane { axis: usize::from(numbers.u8() % 3), affine_coordinates: sides };
    let place = |(place, height): (&[u32; 2], f32)| {
        let mut at = plane.position(*place).map(|v| v as f32);
        at[plane.axis] = height;
        at
    };
    let field = Field {
        plane,
        places: &places,
        order: &hierarchy.order,
        points: places.iter().zip(heights).map(place).collect(),
    };
    let made = encoded(&hierarchy, &field);
    let rest = numbers.rest();
    check(rest, &hierarchy, &shape);
    let Some(mut bytes) = made else { return };
    assert!(check(&bytes, &hierarchy, &shape), "what was encoded");
    for change in rest.chunks_exact(2).take(4) {
        let at = usize::from(change[0]) * bytes.len() / 256;
        bytes[at] ^= change[1];
    }
    check(&bytes, &hierarchy, &shape);
});

/// The static part of a field; none where cells cannot hold its plane.
fn encoded(hierarchy: &Hierarchy, field: &Field<'_>) -> Option<Vec<u8>> {
    let side =
        |k: usize, pick: fn(f32, f32) -> f32, start: f32| field.points.iter().map(|p| p[k]).fold(start, pick);
    let extent = Extent {
        low: [0, 1, 2].map(|k| side(k, f32::min, f32::INFINITY)),
        high: [0, 1, 2].map(|k| side(k, f32::max, f32::NEG_INFINITY)),
        tolerance: 0.05,
        axes: 1,
    };
    let options = Options {
        effort: 1,
        choice: Some(LatticeChoice {
            lattice: Lattice::Cubic,
            first_precision: 1.0,
            key_precision: 1.0,
            deepest_precision: 1.0,
            error_weight: 0.0,
            fit: 0,
        }),
        ..Options::default()
    };
    let mut work = EncodeBuffers::<i16>::default();
    let encoder = Encoder::new(hierarchy.clone(), 1, extent, options, field, &mut work).ok()?;
    (field.plane).to_fixed_point::<i16>(field.places, field.order, encoder.grid())?;
    let mut out = Vec::new();
    field.plane.encode(encoder.static_bytes(), &mut out);
    Some(out)
}

/// Whether bytes are a static part, the plane of which then lies within range.
fn check(bytes: &[u8], hierarchy: &Hierarchy, shape: &GridShape) -> bool {
    let Ok((coded, axis)) = height::decode(bytes, hierarchy.clone(), shape, &mut TableSets::default()) else {
        return false;
    };
    assert_eq!(coded.points(), hierarchy.order.len());
    meshreel_codec::each_width!(&coded.first, first => check_plane(axis, first));
    true
}

fn check_plane<W: FixedPoint>(axis: usize, cells: &[[W; 4]]) {
    for cell in cells {
        for k in (0..3).filter(|&k| k != axis) {
            assert!(cell[k].to_i32().abs() <= W::MAX_COORDINATE);
        }
    }
    let mut others = vec![[W::default(); 4]; cells.len()];
    height::restore_uncoded_axes(axis, cells, &mut others);
    assert!(others.iter().zip(cells).all(|(a, b)| (0..3).all(|k| k == axis || a[k] == b[k])));
}
