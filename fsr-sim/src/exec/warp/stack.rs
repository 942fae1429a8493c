//! The calls that lanes have not returned from: a list that fragments share as far down as they came together, so that a
//! call costs the same at any depth.

use crate::exec::lanes;
use std::cmp::Ordering;
use std::rc::Rc;

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub return_pc: u32,
    pub site: u32,
    pub callee: u32,
    /// Bytes that the frame base moved.
    pub step: u32,
    /// Rows and predicates of a recursive callee before the call.
    pub saved: Vec<[u32; 32]>,
    pub saved_preds: Vec<u32>,
}

impl Frame {
    /// Takes the other lanes' values of the same call.
    fn absorb(&mut self, other: &Frame, mask: u32) {
        for (row, from) in self.saved.iter_mut().zip(&other.saved) {
            for lane in lanes(mask) {
                row[lane] = from[lane];
            }
        }
        for (pred, from) in self.saved_preds.iter_mut().zip(&other.saved_preds) {
            *pred = (*pred & !mask) | (from & mask);
        }
    }
}

#[derive(Clone, Debug)]
struct Node {
    frame: Frame,
    below: Stack,
}

/// The calls, latest on top.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    top: Option<Rc<Node>>,
    depth: u32,
}

impl Stack {
    pub fn push(&mut self, frame: Frame) {
        let depth = self.depth + 1;
        let below = std::mem::take(self);
        *self = Stack { top: Some(Rc::new(Node { frame, below })), depth };
    }

    pub fn pop(&mut self) {
        if let Some(node) = self.top.take() {
            *self = node.below.clone();
        }
    }

    pub fn last(&self) -> Option<&Frame> {
        self.top.as_ref().map(|node| &node.frame)
    }

    pub fn len(&self) -> u32 {
        self.depth
    }

    pub fn is_empty(&self) -> bool {
        self.depth == 0
    }

    fn same(&self, other: &Stack) -> bool {
        match (&self.top, &other.top) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// The frames that are not shared with another stack, latest first, and those below which the shared ones begin.
    fn apart<'s>(&'s self, other: &'s Stack) -> (Vec<&'s Frame>, Vec<&'s Frame>) {
        let (mut mine, mut theirs) = (self, other);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        while !mine.same(theirs) {
            let (a, b) = (mine.depth, theirs.depth);
            if a >= b
                && let Some(node) = &mine.top
            {
                left.push(&node.frame);
                mine = &node.below;
            }
            if b >= a
                && let Some(node) = &theirs.top
            {
                right.push(&node.frame);
                theirs = &node.below;
            }
        }
        (left, right)
    }

    /// By the chain of return addresses from the first call on, each followed by where its lanes stand now.
    pub fn order(&self, pc: u32, other: &Stack, other_pc: u32) -> Ordering {
        if self.same(other) {
            return pc.cmp(&other_pc);
        }
        let (left, right) = self.apart(other);
        let mut mine = left.iter().rev().map(|f| f.return_pc).chain([pc]);
        let mut theirs = right.iter().rev().map(|f| f.return_pc).chain([other_pc]);
        loop {
            return match (mine.next(), theirs.next()) {
                (Some(a), Some(b)) if a == b => continue,
                (Some(a), Some(b)) => a.cmp(&b),
                // The deeper one first: the other is where it will return to.
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            };
        }
    }

    /// Takes the values that other lanes saved at the same calls.
    pub fn absorb(&mut self, other: &Stack, mask: u32) {
        let (mut pairs, mut theirs) = (Vec::new(), other);
        while !self.same(theirs) {
            let (Some(mine), Some(node)) = (self.top.take(), &theirs.top) else { break };
            let mut frame = mine.frame.clone();
            frame.absorb(&node.frame, mask);
            pairs.push(frame);
            *self = mine.below.clone();
            theirs = &node.below;
        }
        for frame in pairs.into_iter().rev() {
            self.push(frame);
        }
    }
}

impl Drop for Stack {
    /// Without recursion: a list may be as long as memory allows.
    fn drop(&mut self) {
        let mut next = self.top.take();
        while let Some(node) = next {
            next = Rc::try_unwrap(node).ok().and_then(|mut node| node.below.top.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(return_pc: u32, value: u32) -> Frame {
        Frame { return_pc, site: 0, callee: 0, step: 16, saved: vec![[value; 32]], saved_preds: vec![value] }
    }

    fn stack(calls: &[(u32, u32)]) -> Stack {
        let mut stack = Stack::default();
        calls.iter().for_each(|(pc, value)| stack.push(frame(*pc, *value)));
        stack
    }

    #[test]
    fn the_order_is_that_of_places_from_the_first_call_on() {
        let shared = stack(&[(10, 0), (20, 0)]);
        let (mut deeper, mut other) = (shared.clone(), shared.clone());
        deeper.push(frame(30, 0));
        other.push(frame(40, 0));
        assert_eq!(deeper.order(99, &other, 1), Ordering::Less);
        assert_eq!(shared.order(30, &deeper, 1), Ordering::Greater, "waits behind the call");
        assert_eq!(shared.order(29, &deeper, 1), Ordering::Less);
        assert_eq!(shared.order(5, &shared.clone(), 5), Ordering::Equal);
        assert_eq!(stack(&[(10, 1)]).order(3, &stack(&[(10, 2)]), 3), Ordering::Equal);
        assert_eq!(stack(&[]).order(9, &stack(&[(10, 2)]), 3), Ordering::Less);
    }

    #[test]
    fn lanes_that_meet_again_keep_what_each_saved() {
        let mut mine = stack(&[(10, 0), (20, 1), (30, u32::MAX)]);
        mine.absorb(&stack(&[(10, 5), (20, 6), (30, 0)]), 0b110);
        let top = mine.last().unwrap();
        assert_eq!((top.saved[0][0], top.saved[0][1], top.saved[0][3]), (u32::MAX, 0, u32::MAX));
        assert_eq!(top.saved_preds[0], !0b110);
        mine.pop();
        assert_eq!((mine.len(), mine.last().unwrap().saved[0][2]), (2, 6));
        mine.pop();
        mine.pop();
        assert!(mine.is_empty());
    }

    #[test]
    fn a_deep_stack_is_dropped_without_recursion() {
        let mut deep = Stack::default();
        (0..1_000_000)
            .for_each(|_| deep.push(Frame { saved: Vec::new(), saved_preds: Vec::new(), ..frame(1, 0) }));
        let copy = deep.clone();
        drop(deep);
        assert_eq!(copy.len(), 1_000_000);
    }
}
