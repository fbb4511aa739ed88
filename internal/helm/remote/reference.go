// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"helm.sh/helm/v3/pkg/repo"
)

const (
	schemeOCI   = "oci"
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// Reference is a reference to a published chart or file.
type Reference struct {
	// url is without chart and version.
	url *url.URL
	// chart is empty unless the URL is that of a repository.
	chart string
	// version is empty if the reference has none.
	version string
	// suffix is the end of a registry reference: :TAG, @DIGEST or nothing.
	suffix string
	// repository is what Helm knows of the repository, if the reference has its name; otherwise nil.
	repository *repo.Entry
}

// Is reports whether a text is a reference to another machine.
func Is(text string) bool {
	return strings.Contains(text, "://")
}

// Parse reads a reference.
func Parse(text string) (Reference, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		// The error of the parser repeats the text.
		return Reference{}, errors.New("it is not a valid URL")
	}
	if parsed.User != nil {
		return Reference{}, errors.New("it contains a user name; set user name and password with their own options")
	}
	if parsed.Host == "" {
		return Reference{}, errors.New("it does not name a host")
	}
	reference := Reference{url: parsed}
	switch parsed.Scheme {
	case schemeOCI:
		return reference.withTag()
	case schemeHTTP, schemeHTTPS:
		reference.chart, reference.version, _ = strings.Cut(parsed.Fragment, ":")
		parsed.Fragment, parsed.RawFragment = "", ""
		if reference.chart == "" && reference.version != "" {
			return Reference{}, errors.New("a version needs the name of a chart: URL#CHART:VERSION")
		}
		return reference, nil
	default:
		return Reference{}, fmt.Errorf("the scheme %q is not known; must be one of: oci, https, http", parsed.Scheme)
	}
}

// withTag takes the tag or the digest off the path.
func (r Reference) withTag() (Reference, error) {
	if r.url.RawQuery != "" || r.url.Fragment != "" {
		return Reference{}, errors.New("must be oci://HOST/PATH, optionally followed by :TAG or @DIGEST")
	}
	path := r.url.Path
	if name, digest, ok := strings.Cut(path, "@"); ok {
		path, r.suffix = name, "@"+digest
	} else if i := strings.LastIndex(path, ":"); i > strings.LastIndex(path, "/") {
		path, r.suffix = path[:i], path[i:]
	}
	if strings.Trim(path, "/") == "" {
		return Reference{}, errors.New("it does not name a chart; must be oci://HOST/PATH, optionally followed by :TAG or @DIGEST")
	}
	r.url.Path, r.url.RawPath = path, ""
	return r, nil
}

// TakesVersion reports whether Options.Version applies, because the reference has no version.
func (r Reference) TakesVersion() bool {
	isFile := r.url.Scheme != schemeOCI && r.chart == ""
	return !isFile && r.version == "" && r.suffix == ""
}
