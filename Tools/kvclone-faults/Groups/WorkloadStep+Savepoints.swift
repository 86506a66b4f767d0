import KVClone

/// What becomes of the savepoints of the workload.
enum SavepointUse: Sendable {
  case used
  /// What is kept is done without a savepoint, and what is rolled back is not done: a run that finds out what the content
  /// has to be.
  case leftOut
  /// A planted bug: nothing is rolled back.
  case kept
}

/// Savepoints of the workload's transactions.
extension WorkloadStep {
  private struct RolledBack: Error {}

  /// Runs `body` in a savepoint, and rolls it back, or not.
  mutating func savepoint(
    isKept: Bool, _ transaction: inout WriteTransaction,
    _ body: (inout WorkloadStep, inout WriteTransaction) throws -> Void
  ) throws {
    guard savepointUse != .leftOut else { return isKept ? try body(&self, &transaction) : () }
    let isKept = isKept || savepointUse == .kept
    // What the step draws and knows is rolled back, too.
    var step = self
    do {
      try transaction.savepoint { transaction in
        try body(&step, &transaction)
        if !isKept { throw RolledBack() }
      }
      self = step
    } catch is RolledBack {}
  }

  /// Savepoints in savepoints, half of them rolled back, with all that a transaction can do.
  mutating func useSavepoints(_ transaction: inout WriteTransaction) throws {
    // Something is kept in any case.
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

  /// What fails after its first change, and would make the transaction abort-only outside a savepoint.
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
