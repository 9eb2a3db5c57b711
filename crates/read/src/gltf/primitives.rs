//! Joins the primitives of a mesh, and applies morph targets.

use super::document::{Document, PrimitiveJson};
use glam::DVec3;
use meshreel_scene::{Error, Remark};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Upper limit for the points of one mesh.
const MAX_POINTS: usize = 1 << 25;

/// Upper limit for the corners of one mesh.
const MAX_CORNERS: usize = 1 << 27;

/// Upper limit for the sets of uvs or colours that are read.
const MAX_SETS: usize = 8;

/// Upper limit for the names of left-out attributes that are listed for one mesh.
const MAX_LISTED_NAMES: usize = 100;

/// One checked primitive.
pub(super) struct Primitive {
    positions: usize,
    normals: Option<usize>,
    uvs: Vec<Option<usize>>,
    /// Each accessor, and its number of components.
    colours: Vec<Option<(usize, usize)>>,
    joints: Vec<usize>,
    weights: Vec<usize>,
    custom_attributes: Vec<CustomAccessor>,
    indices: Option<usize>,
    mode: PrimitiveMode,
    /// The accessors of positions and normals.
    targets: Vec<[Option<usize>; 2]>,
    points: usize,
    pub faces: usize,
    pub material: Option<String>,
    /// The index of its first point among the mesh's points.
    first: usize,
    /// `true` if its points are those of an earlier primitive.
    reuses_points: bool,
}

impl Primitive {
    /// Returns all accessors of its points: equal lists mean equal points.
    fn accessor_key(&self) -> Vec<[usize; 2]> {
        let some = |a: &Option<usize>| a.map_or([0, 0], |a| [1, a]);
        let mut all = vec![[1, self.positions], some(&self.normals)];
        all.extend(self.uvs.iter().map(some));
        all.push([2, 0]);
        all.extend(self.colours.iter().map(|c| some(&c.map(|c| c.0))));
        all.push([2, 1]);
        let bound = self.joints.iter().zip(&self.weights);
        all.extend(bound.map(|(&j, &w)| [j, w]));
        all.push([2, 2]);
        all.extend(self.targets.iter().flatten().map(some));
        all.push([2, 3]);
        all.extend(self.custom_attributes.iter().map(|own| [1, own.accessor]));
        all
    }
}

/// An application-specific attribute of one to four numbers per point.
pub(super) struct CustomAccessor {
    name: String,
    components: usize,
    accessor: usize,
}

/// A mesh of the file, as the locations of its parts.
pub(super) struct MeshAccessors {
    document: Arc<Document>,
    pub primitives: Vec<Primitive>,
    /// The first point for each list of accessors.
    first_points: HashMap<Vec<[usize; 2]>, usize>,
    pub points: usize,
    pub faces: usize,
    pub has_normals: bool,
    pub uvs: usize,
    pub colours: usize,
    /// The number of morph targets.
    pub targets: usize,
    /// The number of influences per point.
    pub(super) influences: usize,
    /// The names of integer attributes that all primitives have.
    pub integers: Vec<String>,
    /// The names of other attributes that all primitives have, and their numbers of components.
    pub custom_attributes: Vec<(String, usize)>,
}

impl MeshAccessors {
    /// Checks mesh `number`; returns `None` if it has no triangles.
    pub fn new(
        document: &Arc<Document>,
        number: usize,
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<MeshAccessors>, Error> {
        let mesh = &document.root.meshes[number];
        let name = mesh.name.clone().unwrap_or(format!("mesh {number}"));
        let mut out = MeshAccessors {
            document: document.clone(),
            primitives: Vec::new(),
            first_points: HashMap::new(),
            points: 0,
            faces: 0,
            has_normals: true,
            uvs: 0,
            colours: 0,
            targets: 0,
            influences: 0,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
        };
        let mut remark = |count: usize, what: &str| {
            if count > 0 {
                remarks.push(Remark::new(&name, format!("{count} {what}")));
            }
        };
        out.read_primitives(number, &mut remark)?;
        if out.primitives.is_empty() {
            return Ok(None);
        }
        out.compare_primitives(number, &mut remark)?;
        out.find_custom_attributes()?;
        for attribute in out.left_out(&mesh.primitives) {
            let what = format!(
                "attribute {attribute} is none that is known, or not in all primitives with as many values as there are points; left out"
            );
            remarks.push(Remark::new(&name, what));
        }
        Ok(Some(out))
    }

    /// Reads all primitives of triangles. `remark` takes a count and the text it applies to.
    fn read_primitives(&mut self, number: usize, remark: &mut dyn FnMut(usize, &str)) -> Result<(), Error> {
        let document = self.document.clone();
        let at = |p: usize| format!("mesh {number}, primitive {p}");
        let (mut lines, mut empty) = (0, 0);
        for (p, primitive) in document.root.meshes[number].primitives.iter().enumerate() {
            let mode = match primitive.mode {
                None | Some(4) => PrimitiveMode::Triangles,
                Some(5) => PrimitiveMode::Strip,
                Some(6) => PrimitiveMode::Fan,
                Some(0..=3) => {
                    lines += 1;
                    continue;
                }
                Some(other) => return Err(document.malformed(format!("mode {other}"), at(p))),
            };
            match read_primitive(&document, primitive, mode).map_err(|e| locate_error(e, &at(p)))? {
                None => empty += 1,
                Some(primitive) => self.add(primitive)?,
            }
        }
        remark(lines, "primitives of points or lines draw no faces and were left out");
        remark(empty, "primitives have no positions and were left out");
        // Only needed while reading the primitives.
        self.first_points = HashMap::new();
        Ok(())
    }

    /// Drops normals that some primitives lack, remarks on filled uvs, and refuses primitives with different
    /// morph targets.
    fn compare_primitives(
        &mut self,
        number: usize,
        remark: &mut dyn FnMut(usize, &str),
    ) -> Result<(), Error> {
        let all = self.primitives.len();
        let count = |has: &dyn Fn(&Primitive) -> bool| self.primitives.iter().filter(|p| has(p)).count();
        let normals = count(&|p| p.normals.is_some());
        let short = count(&|p| p.uvs.len() < self.uvs || p.uvs.contains(&None));
        self.has_normals = normals == all;
        if normals > 0 && normals < all {
            remark(all - normals, "primitives have no normals as the others have; all were left out");
        }
        remark(short, "primitives lack uvs that others have; they are filled");
        if self.primitives.iter().any(|p| p.targets.len() != self.targets) {
            let place = format!("mesh {number}, primitive 0");
            return Err(self.document.malformed("primitives of different morph targets", place));
        }
        Ok(())
    }

    /// Finds the application-specific attributes that all primitives have, up to [`MAX_SETS`].
    fn find_custom_attributes(&mut self) -> Result<(), Error> {
        let own = self.primitives[0].custom_attributes.iter();
        for (name, components) in own.map(|o| (o.name.clone(), o.components)).collect::<Vec<_>>() {
            let same = |own: &CustomAccessor| own.name == name && own.components == components;
            if !self.primitives.iter().all(|p| p.custom_attributes.iter().any(same))
                || self.integers.len() + self.custom_attributes.len() == MAX_SETS
            {
                continue;
            }
            if components == 1 && self.integers(&name, &mut Vec::new())? {
                self.integers.push(name);
            } else {
                self.custom_attributes.push((name, components));
            }
        }
        Ok(())
    }

    /// Returns the names of attributes that are left out.
    fn left_out(&self, primitives: &[PrimitiveJson]) -> BTreeSet<String> {
        let number = |name: &str, stem: &str| -> Option<usize> {
            name.strip_prefix(stem)?.strip_prefix('_')?.parse().ok()
        };
        let known = |name: &str| {
            let set = ["TEXCOORD", "COLOR", "JOINTS", "WEIGHTS"];
            let set = set.iter().find_map(|stem| number(name, stem));
            let own = name.strip_prefix('_');
            matches!(name, "POSITION" | "NORMAL" | "TANGENT")
                || set.is_some_and(|set| set < MAX_SETS)
                || own.is_some_and(|own| {
                    self.integers.iter().any(|name| name == own)
                        || self.custom_attributes.iter().any(|(name, _)| name == own)
                })
        };
        let mut out = BTreeSet::new();
        for primitive in primitives {
            let names = primitive.attributes.iter().map(|(name, _)| name);
            let unknown = names.filter(|name| !known(name));
            out.extend(unknown.take(MAX_LISTED_NAMES).map(str::to_owned));
            for target in &primitive.targets {
                let moved = ["POSITION", "NORMAL", "TANGENT"];
                let names = target.iter().map(|(name, _)| name);
                let unknown = names.filter(|name| !moved.contains(name));
                out.extend(unknown.take(MAX_LISTED_NAMES).map(|name| format!("{name} of morph targets")));
            }
            if out.len() > MAX_LISTED_NAMES {
                break;
            }
        }
        out
    }

    fn add(&mut self, mut primitive: Primitive) -> Result<(), Error> {
        // A primitive without indices draws all of its points in order, so it shares none.
        let earlier = match primitive.indices {
            Some(_) => *self.first_points.entry(primitive.accessor_key()).or_insert(self.points),
            None => self.points,
        };
        (primitive.first, primitive.reuses_points) = (earlier, earlier < self.points);
        if !primitive.reuses_points {
            self.points += primitive.points;
        }
        self.faces += primitive.faces;
        let limit = |what: &str, asked: usize, allowed: usize| match asked <= allowed {
            true => Ok(()),
            false => Err(Error::limit(&self.document.path, what, asked as u64, allowed as u64)),
        };
        limit("points of one mesh", self.points, MAX_POINTS)?;
        limit("corners of one mesh", self.faces * 3, MAX_CORNERS)?;
        self.uvs = self.uvs.max(primitive.uvs.len());
        self.colours = self.colours.max(primitive.colours.len());
        self.targets = self.targets.max(primitive.targets.len());
        self.influences = self.influences.max(primitive.joints.len() * 4);
        self.primitives.push(primitive);
        Ok(())
    }

    /// Returns the primitives that own points: the first of those with the same accessors.
    fn owners(&self) -> impl Iterator<Item = &Primitive> {
        self.primitives.iter().filter(|p| !p.reuses_points)
    }

    /// `true` if points are bound to joints.
    pub fn is_bound(&self) -> bool {
        self.influences > 0
    }

    /// Returns how many numbers a skin keeps in memory.
    pub fn skin_numbers(&self) -> usize {
        self.points * (3 + 2 * self.influences)
    }

    fn vectors<const N: usize>(&self, accessor: usize) -> Result<Vec<[f32; N]>, Error> {
        self.document.values(accessor, N)?.floats()
    }

    pub(super) fn positions(&self, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        for primitive in self.owners() {
            out.extend(self.vectors::<3>(primitive.positions)?);
        }
        Ok(())
    }

    pub(super) fn normals(&self, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        for primitive in self.owners() {
            match primitive.normals {
                Some(accessor) => out.extend(self.vectors::<3>(accessor)?),
                None => out.resize(out.len() + primitive.points, [0.0; 3]),
            }
        }
        Ok(())
    }

    pub fn uvs(&self, set: usize, out: &mut Vec<[f32; 2]>) -> Result<(), Error> {
        out.clear();
        for primitive in self.owners() {
            match primitive.uvs.get(set).copied().flatten() {
                // The origin of glTF images is at the top.
                Some(accessor) => {
                    out.extend(self.vectors::<2>(accessor)?.iter().map(|[u, v]| [*u, 1.0 - v]));
                }
                None => out.resize(out.len() + primitive.points, [0.0; 2]),
            }
        }
        Ok(())
    }

    pub fn colours(&self, set: usize, out: &mut Vec<[f32; 4]>) -> Result<(), Error> {
        out.clear();
        for primitive in self.owners() {
            match primitive.colours.get(set).copied().flatten() {
                Some((accessor, 3)) => {
                    let rgb = self.vectors::<3>(accessor)?;
                    out.extend(rgb.iter().map(|[r, g, b]| [*r, *g, *b, 1.0]));
                }
                Some((accessor, _)) => out.extend(self.vectors::<4>(accessor)?),
                None => out.resize(out.len() + primitive.points, [1.0; 4]),
            }
        }
        Ok(())
    }

    /// Reads one integer per point; returns `false` if some values are not integers.
    pub fn integers(&self, name: &str, out: &mut Vec<i64>) -> Result<bool, Error> {
        out.clear();
        let mut whole = true;
        for primitive in self.owners() {
            let Some(own) = primitive.custom_attributes.iter().find(|own| own.name == *name) else {
                return Ok(false);
            };
            for [value] in self.vectors::<1>(own.accessor)? {
                whole &= value.fract() == 0.0;
                out.push(value as i64);
            }
        }
        Ok(whole)
    }

    /// Reads up to four numbers per point; missing components are 0.
    pub fn custom_values(&self, name: &str, out: &mut Vec<[f32; 4]>) -> Result<(), Error> {
        fn wide<const N: usize>(values: Vec<[f32; N]>, out: &mut Vec<[f32; 4]>) {
            let value = |v: [f32; N]| std::array::from_fn(|i| v.get(i).copied().unwrap_or(0.0));
            out.extend(values.into_iter().map(value));
        }
        out.clear();
        for primitive in self.owners() {
            let own = primitive.custom_attributes.iter().find(|own| own.name == *name);
            match own.map(|own| (own.components, own.accessor)) {
                Some((1, accessor)) => wide(self.vectors::<1>(accessor)?, out),
                Some((2, accessor)) => wide(self.vectors::<2>(accessor)?, out),
                Some((3, accessor)) => wide(self.vectors::<3>(accessor)?, out),
                Some((_, accessor)) => wide(self.vectors::<4>(accessor)?, out),
                None => out.resize(out.len() + primitive.points, [0.0; 4]),
            }
        }
        Ok(())
    }

    /// Computes the point of each corner; −1 if the file's index is out of range.
    pub fn corners(&self, out: &mut Vec<i32>) -> Result<(), Error> {
        out.clear();
        out.reserve(self.faces * 3);
        for primitive in &self.primitives {
            let list = match primitive.indices {
                Some(accessor) => Some(self.document.values(accessor, 1)?.integers::<1>()?),
                None => None,
            };
            let corner = |i: usize| {
                let point = match &list {
                    Some(list) => list.get(i).map_or(usize::MAX, |[p]| *p as usize),
                    None => i,
                };
                match point < primitive.points {
                    true => (primitive.first + point) as i32,
                    false => -1,
                }
            };
            for face in 0..primitive.faces {
                let corners = match primitive.mode {
                    PrimitiveMode::Triangles => [3 * face, 3 * face + 1, 3 * face + 2],
                    PrimitiveMode::Strip if face % 2 == 0 => [face, face + 1, face + 2],
                    PrimitiveMode::Strip => [face + 1, face, face + 2],
                    PrimitiveMode::Fan => [face + 1, face + 2, 0],
                };
                out.extend(corners.map(corner));
            }
        }
        Ok(())
    }

    /// Returns the binding to a skin with `joints` joints: per point `influences` joints, and weights that
    /// sum to 1.
    pub(super) fn read_influences(
        &self,
        joints: usize,
        mut remark: impl FnMut(String),
    ) -> Result<(Vec<u16>, Vec<f32>), Error> {
        let (mut below, mut odd, mut none) = (0usize, 0usize, 0usize);
        let k = self.influences;
        let (mut joint, mut weight) = (vec![0u16; self.points * k], vec![0f32; self.points * k]);
        let mut first = 0;
        for primitive in self.owners() {
            for (set, (&j, &w)) in primitive.joints.iter().zip(&primitive.weights).enumerate() {
                let numbers = self.document.values(j, 4)?.integers::<4>()?;
                for (i, (numbers, weights)) in numbers.iter().zip(self.vectors::<4>(w)?).enumerate() {
                    for c in 0..4 {
                        let at = (first + i) * k + set * 4 + c;
                        let value = weights[c];
                        if value.is_nan() || value <= 0.0 {
                            below += usize::from(value != 0.0);
                            continue;
                        }
                        if numbers[c] as usize >= joints || !value.is_finite() {
                            let what = format!(
                                "vertex {i} is bound to joint {} of {joints} with weight {value}",
                                numbers[c]
                            );
                            return Err(self.document.malformed(what, format!("accessor {j}")));
                        }
                        (joint[at], weight[at]) = (numbers[c] as u16, value);
                    }
                }
            }
            first += primitive.points;
        }
        for weights in weight.chunks_mut(k.max(1)) {
            let sum: f64 = weights.iter().map(|w| f64::from(*w)).sum();
            odd += usize::from(sum > 0.0 && (sum - 1.0).abs() > WEIGHT_SUM_TOLERANCE);
            none += usize::from(sum <= 0.0);
            if sum > 0.0 {
                for w in weights {
                    *w = (f64::from(*w) / sum) as f32;
                }
            }
        }
        if below > 0 {
            remark(format!("{below} weights are below zero or no numbers; they count as zero"));
        }
        if odd > 0 {
            remark(format!("the weights of {odd} points do not sum up to 1; they were divided by their sum"));
        }
        if none > 0 {
            remark(format!("{none} points are bound to no joint; they stay where they are"));
        }
        Ok((joint, weight))
    }

    /// Adds the weighted morph targets to positions (0) or normals (1).
    pub(super) fn morph(&self, what: usize, weights: &[f64], out: &mut [DVec3]) -> Result<(), Error> {
        let mut first = 0;
        for primitive in self.owners() {
            for (target, &weight) in primitive.targets.iter().zip(weights) {
                let (Some(accessor), true) = (target[what], weight != 0.0) else {
                    continue;
                };
                for (out, d) in out[first..].iter_mut().zip(self.vectors::<3>(accessor)?) {
                    *out += DVec3::from_array(d.map(f64::from)) * weight;
                }
            }
            first += primitive.points;
        }
        Ok(())
    }
}

/// Adds the primitive to an error.
fn locate_error(error: Error, place: &str) -> Error {
    match error {
        Error::Malformed { path, what, at } => Error::Malformed { path, what, at: format!("{place}, {at}") },
        other => other,
    }
}

/// Checks the accessors of a primitive; returns `None` if it has no positions.
fn read_primitive(
    document: &Document,
    json: &PrimitiveJson,
    mode: PrimitiveMode,
) -> Result<Option<Primitive>, Error> {
    let Some(positions) = json.attributes.get("POSITION") else {
        return Ok(None);
    };
    let points = document.values(positions, 3)?.count;
    let checked = CheckedAttributes { document, json, points };
    let (joints, weights) = checked.influences()?;
    let own = checked.custom_accessors();
    let mut targets = Vec::with_capacity(json.targets.len());
    for target in &json.targets {
        let part = |name: &str| target.get(name).map(|a| checked.fits(a, 3)).transpose();
        targets.push([part("POSITION")?, part("NORMAL")?]);
    }
    let corners = match json.indices {
        Some(accessor) => document.values(accessor, 1)?.count,
        None => points,
    };
    Ok(Some(Primitive {
        positions,
        normals: json.attributes.get("NORMAL").map(|a| checked.fits(a, 3)).transpose()?,
        uvs: checked.uvs()?,
        colours: checked.colours()?,
        joints,
        weights,
        custom_attributes: own,
        indices: json.indices,
        mode,
        targets,
        points,
        faces: match mode {
            PrimitiveMode::Triangles => corners / 3,
            PrimitiveMode::Strip | PrimitiveMode::Fan => corners.saturating_sub(2),
        },
        material: json.material.map(|m| {
            let name = document.root.materials.get(m).and_then(|m| m.name.clone());
            name.unwrap_or(format!("material {m}"))
        }),
        first: 0,
        reuses_points: false,
    }))
}

/// The attributes of a primitive, each checked to have one value per point.
struct CheckedAttributes<'a> {
    document: &'a Document,
    json: &'a PrimitiveJson,
    points: usize,
}

impl CheckedAttributes<'_> {
    /// Returns the accessor if it has one value of `components` components per point.
    fn fits(&self, accessor: usize, components: usize) -> Result<usize, Error> {
        let count = self.document.values(accessor, components)?.count;
        match count == self.points {
            true => Ok(accessor),
            false => {
                let what = format!("{count} values for {} points", self.points);
                Err(self.document.malformed(what, format!("accessor {accessor}")))
            }
        }
    }

    /// Returns the accessors of `NAME_0`, `NAME_1` …, up to the last one present.
    fn sets(&self, name: &str) -> Vec<Option<usize>> {
        let attribute = |set: usize| self.json.attributes.get(&format!("{name}_{set}"));
        let mut all: Vec<_> = (0..MAX_SETS).map(attribute).collect();
        while all.last() == Some(&None) {
            all.pop();
        }
        // There may be many primitives, most with few sets.
        all.shrink_to_fit();
        all
    }

    fn uvs(&self) -> Result<Vec<Option<usize>>, Error> {
        let sets = self.sets("TEXCOORD").into_iter();
        sets.map(|a| a.map(|a| self.fits(a, 2)).transpose()).collect()
    }

    /// Returns accessor and number of components of each colour set.
    fn colours(&self) -> Result<Vec<Option<(usize, usize)>>, Error> {
        let colour = |accessor: usize| -> Result<(usize, usize), Error> {
            let components = if self.kind(accessor) == Some("VEC3") { 3 } else { 4 };
            Ok((self.fits(accessor, components)?, components))
        };
        self.sets("COLOR").into_iter().map(|a| a.map(colour).transpose()).collect()
    }

    /// Returns the leading joint and weight sets that both exist.
    fn influences(&self) -> Result<(Vec<usize>, Vec<usize>), Error> {
        let (joints, weights) = (self.sets("JOINTS"), self.sets("WEIGHTS"));
        let both = joints.iter().zip(&weights).map_while(|(j, w)| Some(((*j)?, (*w)?)));
        let mut bound = (Vec::new(), Vec::new());
        for (j, w) in both {
            bound.0.push(self.fits(j, 4)?);
            bound.1.push(self.fits(w, 4)?);
        }
        Ok(bound)
    }

    /// Returns the application-specific attributes. Those that do not fit are dropped without a remark.
    fn custom_accessors(&self) -> Vec<CustomAccessor> {
        let mut own = Vec::new();
        for (name, accessor) in self.json.attributes.iter() {
            let components = match self.kind(accessor) {
                Some("SCALAR") => 1,
                Some("VEC2") => 2,
                Some("VEC3") => 3,
                Some("VEC4") => 4,
                _ => continue,
            };
            if let Some(name) = name.strip_prefix('_')
                && let Ok(accessor) = self.fits(accessor, components)
            {
                own.push(CustomAccessor { name: name.to_owned(), components, accessor });
            }
        }
        own
    }

    fn kind(&self, accessor: usize) -> Option<&str> {
        self.document.root.accessors.get(accessor).map(|a| &*a.kind)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PrimitiveMode {
    Triangles,
    Strip,
    Fan,
}

/// A sum of weights farther than this from 1 is remarked on; it exceeds the rounding of 8-bit weights.
const WEIGHT_SUM_TOLERANCE: f64 = 0.02;
