//! Files as all crates write them: for their owner alone, whole or not at all, and one process
//! at a time.
//!
//! - [`private_options`], [`append_private`], [`create_private_folder`], [`create_temporary_folder`]: what nobody else on
//!   the machine can read.
//! - [`NewFile`]: a file beside another, whose name it takes once it is whole. [`replace`] and
//!   [`write_whole`] are made of it.
//! - [`try_lock`], [`lock_within`]: locks that the kernel frees however their process ends.
//!   [`FolderClaim`] is one on a folder.
//! - [`blocking`]: work that waits for a disk, where it keeps no other task waiting.
//!
//! Nothing here knows what is in a file. Three places write in ways of their own, for reasons that
//! stand there: files of the workspace that a model changes (no link may lead out of its folder),
//! memories (an editor may have them open), and the parts of a download (they are taken up again).

mod blocking;
mod claim;
mod lock;
mod private;
mod replace;

pub use blocking::{blocking, finish};
pub use claim::{FolderClaim, FolderLocked};
pub use lock::{LockHolder, lock_within, try_lock};
pub use private::{
    append_private, create_private_folder, create_temporary_folder, private_options,
};
pub use replace::{Access, NewFile, replace, sync_folder, write_whole};
