import CKVCloneLMDB

extension LMDBWriteTransaction {
  /// Writes the dirty pages to the file and frees their memory, without committing; does nothing where the library was
  /// found not to allow it.
  ///
  /// LMDB keeps every dirty page in memory, and by itself spills only after 131,071 entries, a run of overflow pages
  /// counting as one. An `mdb_put` into the unnamed database, on the key of one of our named tables, that declares a
  /// huge value first makes room for it, that is, spills everything, and then refuses to overwrite a table with
  /// `MDB_INCOMPATIBLE` before it looks at the data. `MDB_RESERVE` is given so that, in a library with another order,
  /// nothing would be read from our null pointer. Called between two writes only: it is `mutating`, so no value of the
  /// transaction is in use; cursors that keep a place are closed.
  package mutating func spill() throws(LMDBError) {
    try checkUsable()
    try checkGrowth()
    dirtyBytes = 0
    guard environment.isSpillSupported else { return }
    closePlaces()
    let code = unsafe environment.forceSpill(handle.pointer)
    if code != MDB_INCOMPATIBLE {
      if LMDBEnvironment.isOtherOrder(code) { environment.disableSpill() }
      throw code == 0 ? fail(.incompatible) : fail(code, "mdb_put (spill)")
    }
    spillCount += 1
    environment.beginWritingBack()
  }
}
