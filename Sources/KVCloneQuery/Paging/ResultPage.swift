package import KVCloneCore
package import KVCloneModel

/// A page of the results of a request.
package struct ResultPage: Sendable {
  /// The results in the order of the request.
  package var ids: [ObjectID] = []
  /// The positions of the first and the last result; nil for an empty page.
  package var first: ResultPosition?
  package var last: ResultPosition?
  /// Whether there are further results in the direction of the paging.
  package var hasMore = false
  /// Whether all matches were read and sorted, because no index has the order of the request.
  package var sortsMatches = false
}

/// The part of a request's results that a page has.
package struct PageSpan: Sendable {
  /// The place where the page begins, or ends if `isBackward`; nil for an end of the results.
  package var position: ResultPosition?
  /// Whether the page has the results before the position, or the last ones.
  package var isBackward: Bool
  /// The maximum number of results.
  package var limit: Int

  package init(after position: ResultPosition? = nil, limit: Int) {
    self.position = position
    isBackward = false
    self.limit = limit
  }

  package init(before position: ResultPosition?, limit: Int) {
    self.position = position
    isBackward = true
    self.limit = limit
  }
}

extension PageSpan {
  /// Returns a page of the results of a request, by keyset paging: the page begins at a position, and not at a number
  /// of skipped results, so inserted and deleted objects neither repeat nor hide others.
  ///
  /// In the order of ids or of an index, the cost does not depend on the place of the page. For other orders, all
  /// matches are read, and the keys of one page are in memory.
  ///
  /// - Parameters:
  ///   - request: its limit and offset are ignored.
  ///   - use: `always` reads an index that has the order of the request also where sorting all matches costs less, for
  ///     callers that read all pages.
  /// - Throws: the errors of `fetch(_:)`; `invalidPredicate` for a position of another order.
  package func page<Reading: ObjectReading & ~Copyable>(
    of request: FetchRequest, use: RequestPlanner.IndexUse = .whereCheaper, in transaction: borrowing Reading
  ) throws(StoreError) -> ResultPage {
    try transaction._withSession { (session) throws(StoreError) in
      var request = request
      request.fetchLimit = limit + 1
      request.fetchOffset = 0
      let compiled = try FetchExecutor.compile(request, use: use, in: session)
      return try PageReader(request: compiled, span: self).read(in: session)
    }
  }
}

extension ResultPosition {
  /// Returns the position of an object among the results of a request; nil if it does not exist, or is of another
  /// entity.
  ///
  /// - Throws: the errors of `fetch(_:)`.
  package static func find<Reading: ObjectReading & ~Copyable>(
    _ id: ObjectID, among request: FetchRequest, in transaction: borrowing Reading
  ) throws(StoreError) -> ResultPosition? {
    try transaction._withSession { (session) throws(StoreError) in
      var compiler = try session.schema.compiler(for: request, storeUUID: session.storeUUID)
      let frame = try compiler.frame(of: request)
      guard id.rootCode == frame.entity.rootCode, let view = try session.record(id),
        frame.wantedCodes.contains(try session.schema.entity(of: view, id: id).code)
      else { return nil }
      let keys = try FetchExecutor.sortKeys(frame.order, id, view, QueryEvaluator(session.schema), in: session)
      return ResultPosition(keys: keys, id: id)
    }
  }

  /// Returns the code of the root entity of an entity, which the ids of its objects have.
  ///
  /// - Throws: `unknownEntity`.
  package static func rootCode<Reading: ObjectReading & ~Copyable>(
    of entity: String, in transaction: borrowing Reading
  ) throws(StoreError) -> UInt16 {
    try transaction._withSession { (session) throws(StoreError) in try session.schema.entity(entity).rootCode }
  }
}
