#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension QueryParser {
  /// The precedence of operators, weakest first.
  enum Precedence: Int {
    case or, and, comparison, set, bitwiseOr, bitwiseXor, bitwiseAnd, shift, sum, product
  }

  private enum Infix: Equatable {
    case or, and
    case comparison(QueryComparison.Operator)
    case set(QuerySetOperator)
    case arithmetic(QueryFunction)

    var precedence: Precedence {
      switch self {
      case .or: .or
      case .and: .and
      case .comparison: .comparison
      case .set: .set
      case .arithmetic(let function): Self.precedence(of: function)
      }
    }

    /// The same order as in C, except that all operations bind stronger than comparisons, so that `flags & 4 == 4`
    /// tests the bit.
    private static func precedence(of function: QueryFunction) -> Precedence {
      switch function {
      case .bitwiseOr: .bitwiseOr
      case .bitwiseXor: .bitwiseXor
      case .bitwiseAnd: .bitwiseAnd
      case .leftShift, .rightShift: .shift
      case .add, .subtract: .sum
      default: .product
      }
    }
  }

  /// An operator with a right side that was not parsed yet.
  private struct Pending {
    var infix: Infix
    var options: QueryComparison.Options = []
    var left: QueryNode
    /// The parts of a compound so far: `a AND b AND c` is a single one.
    var items: [QueryPredicate] = []
    var height: Int
    /// The index of the operator's first scalar.
    var start: Int
  }

  /// Parses operators that bind at least as strongly as `weakest`.
  ///
  /// Pending operators are on an explicit stack, so that precedence levels use no stack of the thread.
  mutating func binary(_ weakest: Precedence) throws(QueryFormatError) -> QueryNode {
    var pending: [Pending] = []
    var operand = try unary()
    while let infix = infixOperator(), infix.precedence.rawValue >= weakest.rawValue {
      operand = try reduced(&pending, operand, before: infix)
      try push(&pending, operand, infix)
      operand = try unary()
    }
    return try reduced(&pending, operand, before: nil)
  }

  @inline(never)
  private func infixOperator() -> Infix? {
    if let comparison = token.comparison { return .comparison(comparison) }
    switch token {
    case .word(_, .and), .symbol(.and): return .and
    case .word(_, .or), .symbol(.or): return .or
    case .word(_, let keyword?): return QuerySetOperator(rawValue: keyword.rawValue).map { .set($0) }
    case .symbol(.plus): return .arithmetic(.add)
    case .symbol(.minus): return .arithmetic(.subtract)
    case .symbol(.times): return .arithmetic(.multiply)
    case .symbol(.divide): return .arithmetic(.divide)
    case .symbol(.bitwiseAnd): return .arithmetic(.bitwiseAnd)
    case .symbol(.bitwiseOr): return .arithmetic(.bitwiseOr)
    case .symbol(.bitwiseXor): return .arithmetic(.bitwiseXor)
    case .symbol(.leftShift): return .arithmetic(.leftShift)
    case .symbol(.rightShift): return .arithmetic(.rightShift)
    default: return nil
    }
  }

  /// Reduces the operators on the stack that bind at least as strongly as the next one, last first.
  @inline(never)
  private func reduced(
    _ pending: inout [Pending], _ operand: QueryNode, before infix: Infix?
  ) throws(QueryFormatError) -> QueryNode {
    var operand = operand
    while let last = pending.last, last.infix.precedence.rawValue >= infix?.precedence.rawValue ?? 0 {
      if last.infix == infix, infix == .and || infix == .or { break }
      pending.removeLast()
      operand = try ended(last, operand)
    }
    return operand
  }

  /// Pushes an operator, unless it continues the compound on the stack, and advances.
  @inline(never)
  private mutating func push(
    _ pending: inout [Pending], _ left: QueryNode, _ infix: Infix
  ) throws(QueryFormatError) {
    let offset = start
    if infix == .and || infix == .or {
      let item = try predicate(left)
      if pending.last?.infix != infix {
        pending.append(Pending(infix: infix, left: left, height: 0, start: offset))
      }
      pending[pending.count - 1].items.append(item)
      pending[pending.count - 1].height = max(pending[pending.count - 1].height, left.height)
      try advance()
    } else {
      let options = try operatorAndOptions(infix, behind: left)
      pending.append(Pending(infix: infix, options: options, left: left, height: left.height, start: offset))
    }
  }

  private func ended(_ pending: Pending, _ right: QueryNode) throws(QueryFormatError) -> QueryNode {
    guard pending.infix == .and || pending.infix == .or else {
      return try combined(pending.left, pending.infix, pending.options, right, at: pending.start)
    }
    let items = pending.items + [try predicate(right)]
    let whole: QueryPredicate = pending.infix == .and ? .and(items) : .or(items)
    return try node(.predicate(whole), above: max(pending.height, right.height), at: pending.start)
      .starting(at: pending.left.start)
  }

  // MARK: Comparisons and operations

  /// Advances behind an operator and its options; the token is the operator.
  @inline(never)
  private mutating func operatorAndOptions(
    _ infix: Infix, behind left: QueryNode
  ) throws(QueryFormatError) -> QueryComparison.Options {
    guard case .expression = left.content else { throw unexpected("AND, OR, or the end") }
    try advance()
    guard case .comparison = infix, token == .symbol(.leftBracket) else { return [] }
    return try options()
  }

  private mutating func options() throws(QueryFormatError) -> QueryComparison.Options {
    let offset = try open()
    guard case .word(let letters, _) = token else { throw invalidOption() }
    var options: QueryComparison.Options = []
    for letter in letters.lowercased() {
      guard let option = QueryComparison.Options.letters.first(where: { $0.letter == letter })?.option else {
        throw invalidOption()
      }
      options.insert(option)
    }
    try advance()
    try close(.rightBracket, openedAt: offset)
    return options
  }

  private func invalidOption() -> QueryFormatError {
    if token == .end { return unexpected("an option") }
    return error(.invalidOption, "the options after an operator are the letters c, d, n and l; write [cd]", at: start)
  }

  @inline(never)
  private func combined(
    _ left: QueryNode, _ infix: Infix, _ options: QueryComparison.Options, _ right: QueryNode, at offset: Int
  ) throws(QueryFormatError) -> QueryNode {
    let leftSide = try expression(left)
    let rightSide = try expression(right)
    let content: QueryNode.Content
    switch infix {
    case .comparison(let sign):
      var whole = QueryComparison(leftSide, sign, rightSide, modifier: left.modifier, options: options)
      whole.columns.left = tokenizer.column(of: left.start)
      whole.columns.right = tokenizer.column(of: right.start)
      if let complaint = whole.complaint { throw error(.invalidOperand, complaint, at: right.start) }
      content = .predicate(.comparison(whole))
    case .set(let set): content = .expression(.setOperation(leftSide, set, rightSide))
    case .arithmetic(let function): content = .expression(.function(function, [leftSide, rightSide]))
    case .and, .or: return right
    }
    return try node(content, above: max(left.height, right.height), at: offset).starting(at: left.start)
  }

  // MARK: Prefixes

  private mutating func unary() throws(QueryFormatError) -> QueryNode {
    guard let prefix = prefixOperator() else {
      let base = try postfix()
      guard token == .symbol(.power) else { return base }
      // Right-associative, so that 2 ** 3 ** 2 is 2 ** (3 ** 2), which nests.
      let offset = try openPower(behind: base)
      let exponent = try unary()
      return try raised(base, exponent, at: offset)
    }
    let offset = try open()
    switch prefix {
    case .not:
      let inner = try binary(.comparison)
      return try negated(inner, at: offset)
    case .minus:
      if let least = try leastInteger(at: offset) { return least }
      let inner = try unary()
      return try negative(inner, at: offset)
    case .complement:
      let inner = try unary()
      return try complement(inner, at: offset)
    case .modifier(let modifier):
      var left = try binary(.set)
      left = try modified(left, modifier, at: offset)
      guard let infix = infixOperator() else { throw unexpected("an operator such as ==") }
      let sign = start
      let options = try operatorAndOptions(infix, behind: left)
      let right = try binary(.set)
      leave()
      return try combined(left, infix, options, right, at: sign)
    }
  }

  private enum Prefix {
    case not, minus, complement
    case modifier(QueryComparison.Modifier)
  }

  @inline(never)
  private func prefixOperator() -> Prefix? {
    switch token {
    case .word(_, .not), .symbol(.not): .not
    case .symbol(.minus): .minus
    case .symbol(.complement): .complement
    case .word(_, .anyMember), .word(_, .someMember): .modifier(.any)
    case .word(_, .allMembers): .modifier(.all)
    case .word(_, .noMember): .modifier(.none)
    default: nil
    }
  }

  @inline(never)
  private mutating func openPower(behind base: QueryNode) throws(QueryFormatError) -> Int {
    guard case .expression = base.content else { throw unexpected("AND, OR, or the end") }
    return try open()
  }

  @inline(never)
  private mutating func raised(
    _ base: QueryNode, _ exponent: QueryNode, at offset: Int
  ) throws(QueryFormatError) -> QueryNode {
    leave()
    let whole = QueryExpression.function(.raise, [try expression(base), try expression(exponent)])
    return try node(.expression(whole), above: max(base.height, exponent.height), at: offset).starting(at: base.start)
  }

  @inline(never)
  private mutating func negated(_ inner: QueryNode, at offset: Int) throws(QueryFormatError) -> QueryNode {
    leave()
    return try node(.predicate(.not(predicate(inner))), above: inner.height, at: offset)
  }

  /// Parses the left side of a comparison after ANY or another modifier; the token is its operator.
  @inline(never)
  private func modified(
    _ left: QueryNode, _ modifier: QueryComparison.Modifier, at offset: Int
  ) throws(QueryFormatError) -> QueryNode {
    guard case .expression = left.content, token.comparison != nil else {
      throw unexpected("an operator such as ==")
    }
    let left = left.starting(at: offset)
    left.modifier = modifier
    return left
  }

  /// The least integer has no positive counterpart, so its sign is parsed with it.
  @inline(never)
  private mutating func leastInteger(at offset: Int) throws(QueryFormatError) -> QueryNode? {
    guard token == .integer(Int64.min.magnitude) else { return nil }
    leave()
    try advance()
    return try literal(.value(.integer(.min)), at: offset)
  }

  @inline(never)
  private mutating func negative(_ inner: QueryNode, at offset: Int) throws(QueryFormatError) -> QueryNode {
    leave()
    if inner.isNumberToken, case .expression(.constant(.value(let value))) = inner.content {
      switch value {
      case .integer(let number): return try literal(.value(.integer(-number)), at: offset)
      case .double(let number): return try literal(.value(.double(-number)), at: offset)
      case .decimal(let number): return try literal(.value(.decimal(-number)), at: offset)
      default: break
      }
    }
    return try node(.expression(.function(.negate, [expression(inner)])), above: inner.height, at: offset)
  }

  @inline(never)
  private mutating func complement(_ inner: QueryNode, at offset: Int) throws(QueryFormatError) -> QueryNode {
    leave()
    return try node(.expression(.function(.onesComplement, [expression(inner)])), above: inner.height, at: offset)
  }
}
