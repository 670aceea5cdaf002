//! How much memory a piece of code takes, for promises about it.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    /// Bytes that this thread has now, and the most that it has had since it was asked to count.
    static BYTES: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// The system's allocator, and an account of it.
pub(crate) struct Counting;

fn grown(bytes: usize) {
    // A thread that ends has no account any more, and nobody asks for it.
    let _ = BYTES.try_with(|account| {
        let (now, most) = account.get();
        let now = now.saturating_add(bytes);
        account.set((now, most.max(now)));
    });
}

fn shrunk(bytes: usize) {
    let _ = BYTES.try_with(|account| {
        let (now, most) = account.get();
        account.set((now.saturating_sub(bytes), most));
    });
}

// SAFETY: all calls are passed on as they are; the account allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        shrunk(layout.size());
        // SAFETY: `place` came from `System` with this `layout`, says the caller.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be there at once while it is copied.
        grown(size);
        // SAFETY: as for `dealloc`, and the caller's promise about `size` is passed on.
        let moved = unsafe { System.realloc(place, layout, size) };
        shrunk(layout.size());
        moved
    }
}

/// Runs `work`, and tells the most bytes that this thread had at once more than before.
pub(crate) fn most_during<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = BYTES.with(|account| {
        let (now, _) = account.get();
        account.set((now, now));
        now
    });
    let result = work();
    let (_, most) = BYTES.with(Cell::get);
    (result, most - before)
}
