import Foundation

/// Places the neighbours of a node on two rings around it: as labels along rays, each ring's in its order.
///
/// The first ring is divided evenly among the nodes that a closed graph shows, and each of their sectors among theirs.
/// Nodes that an open graph shows in addition are between them, so that nodes have the same angle in all states.
struct RadialLayout: Sendable {
  /// The neighbours of one node.
  struct Group: Sendable {
    /// The nodes that are visible in the closed state, including those for hidden ones.
    var closed: Int
    /// The nodes that are visible in addition in the open state.
    var extra = 0
  }

  /// A label along a ray.
  struct Label: Sendable, Hashable {
    /// Clockwise from the right, in radians.
    var angle: Double
    /// The distance of its inner end from the centre.
    var radius: Double

    /// The point of a ray at a distance from the inner end.
    func point(_ distance: Double) -> (x: Double, y: Double) {
      (cos(angle) * (radius + distance), sin(angle) * (radius + distance))
    }

    /// Whether its text is rotated by 180°, so that it is never upside down.
    var isTurned: Bool { cos(angle) < -1e-9 }
  }

  static let labelLength = 150.0
  static let labelHeight = 30.0
  /// Between labels of a ring.
  private static let gap = 6.0
  /// The space for the names of edges between the rings.
  static let edgeLength = 150.0
  /// The radius of the node in the middle.
  static let centre = 90.0
  /// The largest part of the circle that a node's neighbours fill.
  private static let largestSector = 2 * Double.pi / 3

  /// The first ring: the closed nodes, then the extra ones.
  private(set) var first: [Label] = []
  /// By closed node of the first ring: its closed neighbours, then the extra ones.
  private(set) var second: [[Label]] = []

  /// - Parameters:
  ///   - centre: the neighbours of the node in the middle.
  ///   - neighbours: those of its closed neighbours.
  init(_ centre: Group, _ neighbours: [Group]) {
    let count = max(centre.closed, 1)
    let slot = 2 * Double.pi / Double(count)
    let angles = Self.angles(centre, middle: slot * Double(count - 1) / 2, sector: 2 * Double.pi)
    let least = Self.radius(spacing: angles.spacing)
    // The names of edges need space, too.
    let inner = max(Self.centre, 14 / angles.spacing)
    let radius = max(least, inner + Self.edgeLength * 0.8)
    first = angles.values.map { Label(angle: $0, radius: radius) }
    let sector = min(slot, Self.largestSector)
    let closed = neighbours.map { group in
      group.closed == 0 ? 0 : Self.radius(spacing: sector / Double(group.closed))
    }
    let ring = max(radius + Self.labelLength + Self.edgeLength, closed.max() ?? 0)
    for (place, group) in neighbours.enumerated() where place < first.count {
      let angles = Self.angles(group, middle: first[place].angle, sector: sector)
      // An open sector needs more space, and the others keep theirs.
      let radius = max(ring, Self.radius(spacing: angles.spacing))
      second.append(angles.values.map { Label(angle: $0, radius: radius) })
    }
  }

  /// The distance at which labels do not touch each other.
  private static func radius(spacing: Double) -> Double {
    // Beyond a right angle, any distance does.
    spacing > 1.5 ? 0 : (labelHeight + gap) / 2 / tan(spacing / 2)
  }

  /// The angles of a group, and the least difference between two of them.
  private static func angles(
    _ group: Group, middle: Double, sector: Double
  ) -> (values: [Double], spacing: Double) {
    if group.closed == 0 { return ([], sector) }
    // Each closed node has the middle of an odd number of places.
    var parts = 1
    while group.closed * parts < group.closed + group.extra { parts += 2 }
    let spacing = sector / Double(group.closed * parts)
    let start = middle - sector / 2
    func angle(_ place: Int) -> Double { start + spacing * (Double(place) + 0.5) }
    let taken = (0..<group.closed).map { $0 * parts + parts / 2 }
    let free = (0..<(group.closed * parts)).filter { $0 % parts != parts / 2 }
    let extra = (0..<group.extra).map { free[$0 * free.count / group.extra] }
    return ((taken + extra).map(angle), spacing)
  }
}
