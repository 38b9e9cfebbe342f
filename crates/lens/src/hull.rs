//! Outputs among the vectors they are mixed from.

use crate::{Mark, Picture};

/// The picture of `outputs` (N × E) among `values` (M × E); `None` where the vectors have no coordinate.
pub(crate) fn picture(values: &[&[f64]], outputs: &[&[f64]], output_names: &[String]) -> Option<Picture> {
    let width = values.first()?.len();
    if width == 0 {
        return None;
    }
    let drawn = width.min(2);
    let mark = |label: String, vector: &[f64]| Mark { label, at: vector[..drawn].to_vec() };
    let values: Vec<Mark> = values.iter().enumerate().map(|(i, v)| mark(format!("v{i}"), v)).collect();
    let outputs = outputs.iter().zip(output_names).map(|(o, name)| mark(name.clone(), o)).collect();
    let corners = if drawn == 2 { corners_of_polygon(&values) } else { ends_of_line(&values) };
    Some(Picture::Hull { values, outputs, corners, width })
}

/// Which of these points are the corners of their hull, counter-clockwise.
pub(crate) fn corners(points: &[(f64, f64)]) -> Vec<usize> {
    let mark = |&(x, y): &(f64, f64)| Mark { label: String::new(), at: vec![x, y] };
    corners_of_polygon(&points.iter().map(mark).collect::<Vec<_>>())
}

/// Smallest and largest.
fn ends_of_line(points: &[Mark]) -> Vec<usize> {
    let by_place = |&i: &usize, &j: &usize| points[i].at[0].total_cmp(&points[j].at[0]);
    let ends = [(0..points.len()).min_by(by_place), (0..points.len()).max_by(by_place)];
    let mut ends: Vec<usize> = ends.into_iter().flatten().collect();
    ends.dedup();
    ends
}

/// Andrew's monotone chain: sorted by x then y, the lower and the upper boundary turn left all the way. Points on an
/// edge are not corners. The result runs counter-clockwise.
fn corners_of_polygon(points: &[Mark]) -> Vec<usize> {
    let xy = |i: usize| (points[i].at[0], points[i].at[1]);
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&i, &j| xy(i).0.total_cmp(&xy(j).0).then(xy(i).1.total_cmp(&xy(j).1)));
    order.dedup_by(|i, j| xy(*i) == xy(*j));
    if order.len() < 3 {
        return order;
    }
    let turn = |o: usize, a: usize, b: usize| {
        let ((ox, oy), (ax, ay), (bx, by)) = (xy(o), xy(a), xy(b));
        (ax - ox) * (by - oy) - (ay - oy) * (bx - ox)
    };
    let chain = |order: &mut dyn Iterator<Item = usize>| {
        let mut chain: Vec<usize> = Vec::new();
        for next in order {
            while let [.., o, a] = chain[..]
                && turn(o, a, next) <= 0.0
            {
                chain.pop();
            }
            chain.push(next);
        }
        // The last point begins the other chain.
        chain.pop();
        chain
    };
    let mut corners = chain(&mut order.iter().copied());
    corners.extend(chain(&mut order.iter().rev().copied()));
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners_of(points: &[&[f64]]) -> Vec<usize> {
        match picture(points, &[], &[]) {
            Some(Picture::Hull { corners, .. }) => corners,
            _ => Vec::new(),
        }
    }

    #[test]
    fn inner_points_and_points_on_an_edge_are_no_corners() {
        let square: [&[f64]; 6] =
            [&[0.0, 0.0], &[2.0, 0.0], &[1.0, 1.0], &[2.0, 2.0], &[0.0, 2.0], &[1.0, 0.0]];
        assert_eq!(corners_of(&square), [0, 1, 3, 4]);
    }

    #[test]
    fn points_on_a_line_have_two_ends_and_one_point_is_its_own_hull() {
        assert_eq!(corners_of(&[&[0.0, 0.0], &[1.0, 1.0], &[2.0, 2.0]]), [0, 2]);
        assert_eq!(corners_of(&[&[1.0, 1.0], &[1.0, 1.0]]), [0]);
        assert_eq!(corners_of(&[&[3.0], &[1.0], &[2.0]]), [1, 0]);
        assert_eq!(corners_of(&[&[3.0]]), [0]);
        assert!(picture(&[&[]], &[], &[]).is_none());
    }
}
