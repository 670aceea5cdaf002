//! Worked examples of every classic dialect, on the host. The root tests run the same file inside
//! the kernel.

mod list;

use list::{Vector, vectors};
use profil_common::{Dialect, cell};

#[test]
fn every_vector_holds() {
    let wrong: Vec<_> = vectors()
        .iter()
        .map(|vector| (vector, cell(vector.dialect, &vector.region, vector.pc)))
        .filter(|(vector, bin)| *bin != vector.bin)
        .map(|(Vector { id, bin, .. }, found)| format!("{id}: {found:?}, not {bin:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_classic_dialect_has_vectors() {
    let vectors = vectors();
    for &dialect in Dialect::ALL {
        let any = vectors.iter().any(|vector| vector.dialect == dialect);
        assert_eq!(any, dialect != Dialect::Modern, "{dialect:?}");
    }
}

#[test]
fn a_counter_that_is_hit_is_allocated() {
    for Vector {
        id,
        dialect,
        region,
        bin,
        ..
    } in vectors()
    {
        if let Some(bin) = bin {
            assert!(bin < region.bins(dialect), "{id}");
            assert!(dialect.call(&region).counts(), "{id}");
        }
    }
}
