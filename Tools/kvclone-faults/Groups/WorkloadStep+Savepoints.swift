import KVClone

/// The handling of the workload's savepoints.
enum SavepointUse: Sendable {
  case used
  /// Kept changes are made without a savepoint, and rolled-back changes are not made: for the run that determines the
  /// expected content.
  case leftOut
  /// A planted bug: savepoints are not rolled back.
  case kept
}

/// Savepoints of the workload's transactions.
extension WorkloadStep {
  private struct RolledBack: Error {}

  /// Runs `body` in a savepoint, and rolls it back unless it is kept.
  mutating func savepoint(
    isKept: Bool, _ transaction: inout WriteTransaction,
    _ body: (inout WorkloadStep, inout WriteTransaction) throws -> Void
  ) throws {
    guard savepointUse != .leftOut else { return isKept ? try body(&self, &transaction) : () }
    let isKept = isKept || savepointUse == .kept
    // The generator and the lists of the step are rolled back, too.
    var step = self
    do {
      try transaction.savepoint { transaction in
        try body(&step, &transaction)
        if !isKept { throw RolledBack() }
      }
      self = step
    } catch is RolledBack {}
  }

  /// Nested savepoints, half of them rolled back, with every operation of a transaction.
  mutating func useSavepoints(_ transaction: inout WriteTransaction) throws {
    // This change is always kept, so the commit is not empty.
    try insertPhoto(&transaction)
    for isKept in [true, false] {
      try savepoint(isKept: isKept, &transaction) { step, transaction in
        try step.change(2, &transaction)
        for isKept in [false, true] {
          try step.savepoint(isKept: isKept, &transaction) { step, transaction in
            try step.change(1, &transaction)
            try step.savepoint(isKept: !isKept, &transaction) { try $0.insertPhoto(&$1, byteCount: 100_000) }
          }
        }
        try step.change(1, &transaction)
      }
      try savepoint(isKept: isKept, &transaction) { step, transaction in
        if let project = step.projects.last { _ = try transaction.clone([project]) }
        try step.read(transaction)
        try step.change(1, &transaction)
      }
      try savepoint(isKept: isKept, &transaction) { step, transaction in
        try transaction.createSnapshot(named: "\(isKept ? "kept" : "dropped").\(step.number)")
        try step.deleteSome(&transaction)
        try step.read(transaction)
      }
      try failInSavepoint(&transaction)
    }
    try change(2, &transaction)
  }

  /// A clone that fails after its first change, which would make the transaction abort-only outside a savepoint.
  private mutating func failInSavepoint(_ transaction: inout WriteTransaction) throws {
    guard savepointUse != .leftOut, let project = projects.first else { return }
    do {
      try transaction.savepoint { transaction in
        var options = CloneOptions()
        options.didClone = { _, _, _ in throw RolledBack() }
        _ = try transaction.clone([project], options: options)
      }
    } catch is RolledBack {
      return
    }
    throw Finding("a clone whose hook fails succeeded")
  }
}
