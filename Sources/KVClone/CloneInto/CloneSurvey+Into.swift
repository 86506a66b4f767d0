import KVCloneCore

extension CloneSurvey {
  /// Checks a clone into another store, or from a snapshot.
  mutating func check(_ context: CloneIntoContext, _ source: borrowing Session, _ destination: borrowing Session) throws
  {
    try context.place(in: destination)
    var planner = try CloneIntoPlanner(context: context, source, isExhaustive: true)
    try planner.check(source, destination)
    take(planner.tally, planner.errors, planner.errorCount)
    try checkRoom(destination)
  }
}
