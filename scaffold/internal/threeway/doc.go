// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package threeway brings what a template says now into a project that was made from what it said then, and that people have edited since.
//
// # Contract
//
// Decide is pure, and decides for one file. Nothing that people have written is lost: a file that both sides changed is merged, and stays as it is if the changes
// are to the same lines, unless conflict markers are asked for.
//
//	then     now      people's            result
//	same     same     any                 Keep
//	present  changed  as then             Take
//	present  absent   as then             Remove
//	absent   present  absent              Take
//	any      changed  equal to now        Keep
//	present  changed  edited              Merge, or Conflict
//	present  changed  removed             Leave: it stays removed
//	present  absent   edited              Conflict: it stays
//	absent   present  another             Conflict: it stays
package threeway
