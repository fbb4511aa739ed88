// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"regexp"
	"strings"
	"testing"
)

// TestVerbosity logs requests to standard error, with their headers from level 7 on.
func TestVerbosity(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	request := regexp.MustCompile(`verb="PATCH" url="https://[^"]*/configmaps/a\?[^"]*" status="201 Created" milliseconds=\d+`)
	quiet, requests := p.must("plan", "web", source), p.must("apply", "web", source, "-v", "6")
	if strings.Contains(quiet.stderr, "verb=") || !request.MatchString(requests.stderr) || strings.Contains(requests.stderr, "headers=") {
		t.Errorf("want requests with -v 6 only, got %s and %s", quiet.stderr, requests.stderr)
	}
	if headers := p.must("status", "web", "-v", "7"); !strings.Contains(headers.stderr, "headers=") {
		t.Errorf("want headers, got %s", headers.stderr)
	}
	p.expect(p.clm("ls", "-v", "-1"), 1, "is not a whole number greater than or equal to 0")
	p.must("delete", "web", "--max-concurrency", "1")
}
