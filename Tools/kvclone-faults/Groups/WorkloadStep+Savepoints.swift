import KVClone

/// Savepoints of the workload's transactions.
extension WorkloadStep {
  private struct RolledBack: Error {}

  /// Runs `body` in a savepoint, and rolls it back, or not. What is rolled back has to leave nothing, also if a fault
  /// made it fail.
  mutating func savepoint(
    isKept: Bool, _ transaction: inout WriteTransaction,
    _ body: (inout WorkloadStep, inout WriteTransaction) throws -> Void
  ) throws {
    let model = version.model
    let before = try StoreDigest.objects(model, transaction)
    do {
      try transaction.savepoint { transaction in
        try body(&self, &transaction)
        if !isKept { throw RolledBack() }
      }
    } catch is RolledBack {
      try read(transaction)
      let after = try StoreDigest.objects(model, transaction)
      if after != before { throw Finding("the savepoint of commit \(number) left changes") }
    } catch let error as any KVCloneError {
      // The transaction may be abort-only. If it is not, nothing of the savepoint is there.
      let after = try? StoreDigest.objects(model, transaction)
      if let after, after != before, canContinue(&transaction) {
        throw Finding("the savepoint of commit \(number) left changes after \(error.kindName): \(error.message)")
      }
      throw error
    }
  }

  private func canContinue(_ transaction: inout WriteTransaction) -> Bool {
    do { try transaction.savepoint { _ in } } catch { return false }
    return true
  }

  /// Savepoints in savepoints, half of them rolled back, with all that a transaction can do.
  mutating func useSavepoints(_ transaction: inout WriteTransaction) throws {
    // Something is kept in any case.
    try insertPhoto(&transaction)
    for isKept in [true, false] {
      try savepoint(isKept: isKept, &transaction) { step, transaction in
        try step.change(3, &transaction)
        for isKept in [false, true] {
          try step.savepoint(isKept: isKept, &transaction) { step, transaction in
            try step.change(2, &transaction)
            try step.savepoint(isKept: !isKept, &transaction) { try $0.insertManyPhotos(&$1) }
          }
        }
        try step.change(2, &transaction)
      }
      try savepoint(isKept: isKept, &transaction) { step, transaction in
        if let project = step.projects.last { _ = try transaction.clone([project]) }
        try step.read(transaction)
        try step.change(2, &transaction)
      }
      try savepoint(isKept: isKept, &transaction) { step, transaction in
        try transaction.createSnapshot(named: "\(isKept ? "kept" : "dropped").\(step.number)")
        try step.deleteSome(&transaction)
      }
      try failInSavepoint(&transaction)
    }
    try change(2, &transaction)
  }

  /// What fails after its first change, and would make the transaction abort-only outside a savepoint.
  private mutating func failInSavepoint(_ transaction: inout WriteTransaction) throws {
    guard let project = projects.first else { return }
    let before = try StoreDigest.objects(version.model, transaction)
    do {
      try transaction.savepoint { transaction in
        var options = CloneOptions()
        options.didClone = { _, _, _ in throw RolledBack() }
        _ = try transaction.clone([project], options: options)
      }
    } catch is RolledBack {
      let after = try StoreDigest.objects(version.model, transaction)
      if after != before { throw Finding("the clone that failed in commit \(number) left changes") }
      return
    }
    throw Finding("a clone whose hook fails succeeded")
  }
}
