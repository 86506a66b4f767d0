package import KVCloneCore

extension ReadTransaction {
  /// Writes the objects that the transaction sees as NDJSON; see ``ObjectStore/dump(_:to:)``.
  ///
  /// - Throws: the errors of ``ObjectStore/dump(_:to:)``.
  package borrowing func dump(_ options: DumpOptions = DumpOptions(), to sink: (RawSpan) throws -> Void) throws
    -> DumpResult
  {
    try DumpRun.dump(self, options, to: sink)
  }
}
