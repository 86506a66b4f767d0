import KVClone

/// An object, its neighbours, and theirs.
struct Neighbourhood: Sendable {
  /// An object, or a number of objects that are not shown.
  struct Node: Sendable {
    /// Nil for objects that are not shown.
    var name: DisplayName?
    /// The number of objects that this node stands for.
    var hiddenCount = 0
    /// The relationship that leads here from the node in the middle, or from ``parent``; for incoming references,
    /// `Entity.relationship`.
    var relationship: String
    /// Whether the relationship leads from here to the nearer node, and has no inverse.
    var isIncoming = false
    /// Whether ``hiddenCount`` is a lower bound.
    var isLowerBound = false
    /// The position of the nearer node in ``first``; nil on the first ring.
    var parent: Int?
    /// Whether it is visible only in the open state of the nearer node.
    var isExtra = false

    /// The relationship with its direction.
    var label: String { isIncoming ? "← \(relationship)" : relationship }

    /// Such as `12 more`.
    var hiddenText: String { "\(isLowerBound ? "at least " : "")\(hiddenCount) more" }
  }

  /// A relationship between two objects that are already shown.
  struct Link: Sendable, Hashable {
    var from: String
    var to: String
    var relationship: String

    init(from: String, to: String, relationship: String) {
      (self.from, self.to, self.relationship) = (from, to, relationship)
    }

    /// - Parameter isIncoming: whether the relationship is one `Entity.relationship` that leads from `to` to `from`.
    init(from: String, to: String, _ relationship: String, isIncoming: Bool) {
      (self.from, self.to) = isIncoming ? (to, from) : (from, to)
      let name = isIncoming ? relationship.split(separator: ".").last.map(String.init) : nil
      self.relationship = name ?? relationship
    }
  }

  var centre: DisplayName
  /// Whether all of the centre's neighbours are shown, up to the limit.
  var isOpen = false
  /// The first ring: what the closed state shows, then the rest.
  var first: [Node] = []
  /// By node of ``first``; empty for extra nodes.
  var second: [[Node]] = []
  /// The positions of the open nodes of ``first``.
  var open: Set<Int> = []
  var links: [Link] = []

  /// All nodes but the centre, each followed by its neighbours.
  var nodes: [Node] {
    first.indices.flatMap { [first[$0]] + (second.indices.contains($0) ? second[$0] : []) }
  }

  /// The name of the nearer object of a node.
  func origin(of node: Node) -> String { node.parent.flatMap { first[$0].name?.id } ?? centre.id }

  var layout: RadialLayout {
    RadialLayout(Self.group(first), second.map(Self.group))
  }

  private static func group(_ nodes: [Node]) -> RadialLayout.Group {
    let extra = nodes.count(where: \.isExtra)
    return RadialLayout.Group(closed: nodes.count - extra, extra: extra)
  }
}
