//! Compares every sample of the same archive in both containers. (The converter that made the HDF5 files
//! expands instances.)
#![cfg(feature = "hdf5")]

use meshreel_read::{ReadOptions, open};

#[test]
fn every_sample_is_the_same_in_both_containers() {
    let Some(folder) = crate::corpus::alembic() else {
        return;
    };
    let mut files = 0;
    for entry in std::fs::read_dir(folder.join("gen_hdf5")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().replace("_hdf5", "");
        let (hdf5, _) = open(&path, &ReadOptions::default()).unwrap();
        let (ogawa, _) = open(&folder.join("gen").join(&name), &ReadOptions::default()).unwrap();
        assert_eq!((hdf5.format, ogawa.format), ("alembic-hdf5", "alembic-ogawa"));
        assert_eq!(hdf5.fps, ogawa.fps);
        let difference = crate::difference::scenes(&ogawa, &hdf5, true);
        assert!(difference.found.is_empty(), "{name}:\n{}", difference.found.join("\n"));
        assert!(difference.samples > 20, "{name}");
        files += 1;
    }
    assert_eq!(files, 7);
}
