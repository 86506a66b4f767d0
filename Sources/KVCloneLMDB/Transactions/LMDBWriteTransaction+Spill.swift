import CKVCloneLMDB

extension LMDBWriteTransaction {
  /// Writes the dirty pages to the file and frees their memory, without committing; does nothing if the library does
  /// not support it.
  ///
  /// LMDB keeps every dirty page in memory, and on its own spills only after 131,071 entries, a run of overflow pages
  /// counting as one. An `mdb_put` into the unnamed database, on the key of a named table, that declares a huge value
  /// first makes room for it, that is, spills everything, and then fails to overwrite a table with `MDB_INCOMPATIBLE`
  /// before it reads the data. `MDB_RESERVE` ensures that a library with another order would not read from the null
  /// pointer. Called between two writes only: it is `mutating`, so no value of the transaction is in use; retained
  /// cursors are closed.
  package mutating func spill() throws(LMDBError) {
    try checkUsable()
    try checkGrowth()
    dirtyBytes = 0
    guard environment.isSpillSupported else { return }
    closePlaces()
    // Spilled pages may need the space before the commit does.
    if isDeleteOnly { try environment.settleReserve(handle, isDeleteOnly: true) }
    let code = unsafe environment.forceSpill(handle.pointer)
    if code != MDB_INCOMPATIBLE {
      if LMDBEnvironment.isOtherOrder(code) { environment.disableSpill() }
      throw code == 0 ? fail(.incompatible) : fail(code, "mdb_put (spill)")
    }
    spillCount += 1
    environment.beginWritingBack()
  }
}
