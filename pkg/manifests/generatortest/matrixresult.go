// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import "context"

// result is what a combination leads to.
type result struct {
	combination
	attempt

	mutations []mutation
}

// try generates a combination.
func (m Matrix) try(ctx context.Context, c combination) result {
	preview := &previewer{matrix: m, objects: c.Objects}
	suite := m.suite(preview)
	scheme, err := suite.scheme()
	if err != nil {
		return result{combination: c, attempt: failure(err.Error())}
	}
	preview.scheme = scheme
	r := result{combination: c, attempt: suite.try(ctx, c.Case, scheme), mutations: preview.mutations}
	r.problems = append(preview.problems, r.problems...)
	return r
}
