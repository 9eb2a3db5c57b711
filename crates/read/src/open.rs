//! Opens an input of any format.

#[cfg(feature = "fbx")]
use super::fbx;
use super::{ReadOptions, alembic, bvh, gltf, obj, ply, sequence};
use meshreel_files::PositionedFile;
use meshreel_scene::{Error, Remark, Scene};
use std::path::Path;
use std::sync::Arc;

/// Opens an input of any supported format. Remarks report content that is malformed or not carried over; the
/// scene is usable all the same.
pub fn open(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    // A file actually named 'a#.obj' is opened as that file.
    if is_sequence(path) {
        return sequence::open(path, options);
    }
    let (mut scene, remarks) = open_file(path, options)?;
    // The reader has already added the other files that the input names.
    scene.files.insert(0, path.into());
    scene.files.extend(options.points.clone());
    Ok((scene, remarks))
}

/// `true` if `path` names a sequence of files: it has a place for a number, and no file of that name exists.
pub fn is_sequence(path: &Path) -> bool {
    sequence::is_pattern(path) && !meshreel_files::exists(path)
}

fn open_file(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let file = PositionedFile::open(path)?;
    let format = detect_format(&file)?;
    if options.points.is_some() && format != Some(Format::Obj) {
        return Err(Error::misuse(format!(
            "{}: --points moves the points of an OBJ file, which this is not",
            path.display()
        )));
    }
    let has_several = matches!(format, Some(Format::Gltf | Format::Fbx));
    if let (Some(animation), true) = (&options.animation, !has_several) {
        return Err(Error::misuse(format!(
            "{}: --animation {animation} chooses among the animations of a glTF or FBX file, which this is not",
            path.display()
        )));
    }
    match format {
        Some(Format::Ogawa) => alembic::schema::read(Arc::new(alembic::ogawa::Ogawa::open(file)?)),
        #[cfg(feature = "hdf5")]
        Some(Format::Hdf5) => alembic::schema::read(alembic::hdf5::open(path)?),
        #[cfg(not(feature = "hdf5"))]
        Some(Format::Hdf5) => {
            Err(Error::unsupported(path, "Alembic in HDF5; this build was made without the feature hdf5"))
        }
        Some(Format::Obj) => obj::open(path, options),
        Some(Format::Ply) => ply::open(path, options),
        Some(Format::Bvh) => bvh::open(path, options),
        Some(Format::Gltf) => gltf::open(path, options),
        Some(Format::Usd) => meshreel_read_usd::open(path),
        #[cfg(feature = "fbx")]
        Some(Format::Fbx) => fbx::open(path, options),
        #[cfg(not(feature = "fbx"))]
        Some(Format::Fbx) => Err(Error::unsupported(
            path,
            "FBX; this build was made without the feature fbx (write .abc, .usd or .glb, or build with --features fbx)",
        )),
        None => Err(Error::unsupported(
            path,
            "neither its content nor its name is that of a kind of file that can be read \
             (.abc, .usd, .glb, .gltf, .obj, .ply, .bvh, or a quoted sequence like 'frame.####.obj')",
        )),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Ogawa,
    Hdf5,
    Obj,
    Ply,
    Bvh,
    Gltf,
    Usd,
    Fbx,
}

/// Detects the format from the first bytes if these are clear, otherwise from the file extension.
fn detect_format(file: &PositionedFile) -> Result<Option<Format>, Error> {
    let mut start = [0; 8];
    let n = file.length().min(8) as usize;
    file.read_exact(0, &mut start[..n])?;
    let is_named = |extension: &str| {
        let own = file.path().extension();
        own.is_some_and(|own| own.eq_ignore_ascii_case(extension))
    };
    Ok(if start.starts_with(b"Ogawa") {
        Some(Format::Ogawa)
    } else if start == *b"\x89HDF\r\n\x1a\n" {
        Some(Format::Hdf5)
    } else if start.starts_with(b"glTF") || is_named("gltf") || is_named("glb") {
        Some(Format::Gltf)
    } else if start == *b"PXR-USDC" || ["usd", "usda", "usdc", "usdz"].into_iter().any(is_named) {
        Some(Format::Usd)
    } else if start == *b"Kaydara " || is_named("fbx") {
        Some(Format::Fbx)
    } else if is_named("obj") {
        Some(Format::Obj)
    } else if is_named("ply") {
        Some(Format::Ply)
    } else if is_named("bvh") {
        Some(Format::Bvh)
    } else if is_named("abc") {
        let what = "does not begin as an Alembic archive does";
        return Err(Error::malformed(file.path(), what, "byte 0"));
    } else {
        None
    })
}
