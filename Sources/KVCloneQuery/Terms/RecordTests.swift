import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A conjunction of tests, prepared for records of one layout at a time: adjacent records share theirs, so fields are
/// looked up when the layout changes, and not for each record.
struct RecordTests: ~Copyable {
  private var tests: [RecordTest] = []
  /// The text constants of the tests, in memory with stable addresses.
  private var texts: [UnsafeMutableRawBufferPointer] = []
  private var fields: UnsafeMutablePointer<FieldTest>?
  private var fieldCount = 0
  /// The layout that the tests are prepared for; nil before the first record.
  private var layout: RecordLayout?
  /// The indexes of the tests that records of the layout cannot decide.
  private(set) var undecided: [Int] = []

  init(_ tests: [RecordTest] = []) {
    set(tests)
  }

  deinit {
    for text in texts { text.deallocate() }
    fields?.deallocate()
  }

  /// Replaces the tests.
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

  /// Prepares the tests for records of a layout.
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

  /// Whether the tests are prepared for a layout. Called for every record, so not by `==` of optionals, which is
  /// dispatched.
  @inline(__always)
  func isReady(for other: RecordLayout) -> Bool {
    guard let layout else { return false }
    return layout == other
  }

  /// The tests that records of the current layout decide.
  @inline(__always)
  var decided: UnsafeBufferPointer<FieldTest> { UnsafeBufferPointer(start: fields, count: fieldCount) }

  /// Whether one of them tests a text.
  var decidesTexts: Bool { decided.contains { $0.isOfText } }

  /// The tests, if they are prepared for a layout, and decide it completely; otherwise empty.
  @inline(__always)
  func alone(for layout: RecordLayout) -> UnsafeBufferPointer<FieldTest> {
    isReady(for: layout) && undecided.isEmpty ? decided : UnsafeBufferPointer(start: nil, count: 0)
  }

  /// Whether all decidable tests hold for a record of the current layout.
  @inline(__always)
  func hold(_ view: borrowing RecordView) -> Bool {
    FieldTest.allHold(UnsafeBufferPointer(start: fields, count: fieldCount), view)
  }

  /// Whether there is a test, and all are decidable on a record, and hold.
  @inline(__always)
  mutating func surelyHold(_ view: borrowing RecordView) -> Bool {
    if !isReady(for: view.layout) { prepare(view.layout) }
    return fieldCount > 0 && undecided.isEmpty && hold(view)
  }
}

/// The filter of a request, applied to one object after the other.
struct RecordFilter: ~Copyable {
  let evaluator: QueryEvaluator
  private let rootCode: UInt16
  private let wantedCodes: Set<UInt16>
  /// The last wanted entity: adjacent objects are usually of the same.
  private var lastCode: UInt16 = 0
  private var tests: RecordTests
  /// The parts of the condition that are tested on records.
  private let testedParts: [QueryCondition]
  private let otherParts: [QueryCondition]
  /// The parts that the evaluator tests for records of the current layout.
  private var rest: [QueryCondition] = []
  private var hasRest = false
  /// Tests that together prove that an object sorts after all that a limit keeps, in memory of their owner.
  private let behind: UnsafeMutablePointer<RecordTests>?
  /// Filters records of the current layout.
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

  /// Whether an object is of a wanted entity.
  @inline(__always)
  mutating func isOfWantedEntity(_ id: ObjectID, _ view: borrowing RecordView) throws(StoreError) -> Bool {
    let code = view.layout.entityCode
    if code == lastCode, id.rootCode == rootCode { return true }
    guard wantedCodes.contains(try evaluator.schema.entity(of: view, id: id).code) else { return false }
    lastCode = code
    return true
  }

  /// Whether the condition holds for an object, as far as the request's source does not ensure it.
  @inline(__always)
  mutating func holds(
    _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    if !tests.isReady(for: view.layout) { prepare(view.layout) }
    guard tests.hold(view) else { return false }
    if !hasRest { return true }
    return try restHolds(id, view, session)
  }

  /// Filters a record by its bytes, if it has the layout of the one before.
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
    // The tests for the limit are not known yet, and may test a text.
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
