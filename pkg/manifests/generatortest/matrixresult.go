// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// result is what a combination leads to.
type result struct {
	combination

	text      string // of the golden file
	mutations []mutation
	problems  []string
	// failed means that there is no text although there should be.
	failed bool
}

// try generates a combination.
func (m Matrix) try(ctx context.Context, c combination) result {
	preview := &previewer{matrix: m, objects: c.Objects}
	suite := m.suite(preview)
	fail := func(problems ...string) result { return result{combination: c, problems: problems, failed: true} }
	scheme, err := suite.scheme()
	if err != nil {
		return fail(err.Error())
	}
	preview.scheme = scheme
	before := c.Parameters.ToUnstructured()
	objects, err := suite.generate(ctx, c.Case, scheme)
	if c.Err != "" {
		if err == nil || !strings.Contains(err.Error(), c.Err) {
			return fail(fmt.Sprintf("got error %v, want one with %q", err, c.Err))
		}
		return result{combination: c}
	}
	if err != nil {
		return fail(fmt.Sprintf("generating: %s", err))
	}
	normalised, problems := normalise(objects, scheme)
	if len(problems) > 0 {
		return fail(problems...)
	}
	r := result{combination: c, mutations: preview.mutations, problems: append(preview.problems, suite.check(normalised, c.Namespace)...)}
	if diff := cmp.Diff(before, c.Parameters.ToUnstructured()); diff != "" {
		r.problems = append(r.problems, "the function changed its parameters (-before +after):\n"+diff)
	}
	again, failures := suite.generateAgain(ctx, c.Case, scheme, objects)
	if c.Random {
		hideRandom(normalised, again)
	}
	if r.text, err = render(normalised); err != nil {
		return fail(err.Error())
	}
	if len(failures) == 0 {
		failures = compareAgain(r.text, again)
	}
	r.problems = append(r.problems, failures...)
	return r
}
