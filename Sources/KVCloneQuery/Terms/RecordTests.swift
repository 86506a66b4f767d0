import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Tests that all have to hold, made ready for records of one layout after the other: neighbours share theirs, so that
/// fields are looked up when it changes, and not for each record.
struct RecordTests: ~Copyable {
  private var tests: [RecordTest] = []
  /// What the tests compare texts with, in memory that stays where it is.
  private var texts: [UnsafeMutableRawBufferPointer] = []
  private var fields: UnsafeMutablePointer<FieldTest>?
  private var fieldCount = 0
  /// The layout that the tests are ready for; nil before the first record.
  private var layout: RecordLayout?
  /// The places of the tests that records of the layout cannot decide.
  private(set) var undecided: [Int] = []

  init(_ tests: [RecordTest] = []) {
    set(tests)
  }

  deinit {
    for text in texts { text.deallocate() }
    fields?.deallocate()
  }

  /// Takes other tests instead.
  mutating func set(_ tests: [RecordTest]) {
    for text in texts { text.deallocate() }
    fields?.deallocate()
    self.tests = tests
    texts = tests.map { test in
      let text = UnsafeMutableRawBufferPointer.allocate(byteCount: test.text.count, alignment: 1)
      text.copyBytes(from: test.text)
      return text
    }
    fields = tests.isEmpty ? nil : .allocate(capacity: tests.count)
    (fieldCount, layout, undecided) = (0, nil, [])
  }

  /// Makes the tests ready for records of a layout.
  mutating func prepare(_ layout: RecordLayout) {
    self.layout = layout
    fieldCount = 0
    undecided = []
    for (place, test) in tests.enumerated() {
      if let fields, let field = test.test(of: layout, text: UnsafeRawBufferPointer(texts[place])) {
        (fields + fieldCount).initialize(to: field)
        fieldCount += 1
      } else {
        undecided.append(place)
      }
    }
  }

  /// Whether records of a layout can be decided as it is. Asked for every record, so not by `==` of optionals, which is
  /// dispatched.
  @inline(__always)
  func isReady(for other: RecordLayout) -> Bool {
    guard let layout else { return false }
    return layout == other
  }

  /// The tests that records of the present layout decide.
  @inline(__always)
  var decided: UnsafeBufferPointer<FieldTest> { UnsafeBufferPointer(start: fields, count: fieldCount) }

  /// Whether one of them is of a text.
  var decidesTexts: Bool { decided.contains { $0.isOfText } }

  /// The tests, where they are ready for a layout, and decide it alone; none where they do not.
  @inline(__always)
  func alone(for layout: RecordLayout) -> UnsafeBufferPointer<FieldTest> {
    isReady(for: layout) && undecided.isEmpty ? decided : UnsafeBufferPointer(start: nil, count: 0)
  }

  /// Whether all tests hold that are decided on a record, which is of the present layout.
  @inline(__always)
  func hold(_ view: borrowing RecordView) -> Bool {
    FieldTest.allHold(UnsafeBufferPointer(start: fields, count: fieldCount), view)
  }

  /// Whether there is a test, and all are decided on a record, and hold.
  @inline(__always)
  mutating func surelyHold(_ view: borrowing RecordView) -> Bool {
    if !isReady(for: view.layout) { prepare(view.layout) }
    return fieldCount > 0 && undecided.isEmpty && hold(view)
  }
}

/// What an object has to be to be one of a request's, asked of one object after the other.
struct RecordFilter: ~Copyable {
  let evaluator: QueryEvaluator
  private let rootCode: UInt16
  private let wantedCodes: Set<UInt16>
  /// The last entity that was wanted: neighbours are of one, as a rule.
  private var lastCode: UInt16 = 0
  private var tests: RecordTests
  /// The parts of the condition that the tests are of.
  private let testedParts: [QueryCondition]
  private let otherParts: [QueryCondition]
  /// What is left to the evaluator for records of the present layout.
  private var rest: [QueryCondition] = []
  private var hasRest = false
  /// Tests that together say that an object comes behind all that a limit keeps, in the memory of whoever keeps them.
  private let behind: UnsafeMutablePointer<RecordTests>?
  /// Looks through records of the present layout.
  private var sieve: RecordSieve?
  private var layout = RecordLayout?.none

  init(_ request: CompiledRequest, _ schema: Schema, behind: UnsafeMutablePointer<RecordTests>? = nil) {
    evaluator = QueryEvaluator(schema)
    self.behind = behind
    rootCode = request.entity.rootCode
    wantedCodes = request.frame.wantedCodes
    var (tests, tested, others): ([RecordTest], [QueryCondition], [QueryCondition]) = ([], [], [])
    let parts = request.isSourceExact ? [] : request.condition?.parts ?? []
    for part in parts {
      if case .comparison(let comparison) = part, let test = comparison.onRecord {
        tests.append(test)
        tested.append(part)
      } else {
        others.append(part)
      }
    }
    self.tests = RecordTests(tests)
    (testedParts, otherParts) = (tested, others)
  }

  /// Whether an object is of an entity that is asked for.
  @inline(__always)
  mutating func isOfWantedEntity(_ id: ObjectID, _ view: borrowing RecordView) throws(StoreError) -> Bool {
    let code = view.layout.entityCode
    if code == lastCode, id.rootCode == rootCode { return true }
    guard wantedCodes.contains(try evaluator.schema.entity(of: view, id: id).code) else { return false }
    lastCode = code
    return true
  }

  /// Whether the condition holds for an object, as far as the request's source does not vouch for it.
  @inline(__always)
  mutating func holds(
    _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    if !tests.isReady(for: view.layout) { prepare(view.layout) }
    guard tests.hold(view) else { return false }
    if !hasRest { return true }
    return try restHolds(id, view, session)
  }

  /// What a record's bytes say, where it is of the layout of the one before.
  @inline(__always)
  func judge(_ key: RawSpan, _ value: RawSpan) -> RecordVerdict {
    guard let sieve, let layout else { return .unknown }
    let refused = behind?.pointee.alone(for: layout) ?? UnsafeBufferPointer(start: nil, count: 0)
    let needed = tests.decided
    if needed.isEmpty && refused.isEmpty { return .unknown }
    return sieve.judge(key, value, needed: needed, refused: refused)
  }

  @inline(never)
  private mutating func prepare(_ layout: RecordLayout) {
    tests.prepare(layout)
    self.layout = layout
    // What comes behind is not known yet, and may be told by a text.
    sieve = RecordSieve(layout, readsTexts: behind != nil || tests.decidesTexts)
    rest = tests.undecided.map { testedParts[$0] } + otherParts
    hasRest = !rest.isEmpty
  }

  private func restHolds(
    _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    for part in rest where try !evaluator.holds(part, id, view, session) { return false }
    return true
  }
}
