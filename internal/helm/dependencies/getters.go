// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package dependencies

import (
	"bytes"
	"context"
	"fmt"
	"net/url"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/getter"
)

// getters returns Helm's, plugins included. They end with the context, and refuse what is not encrypted unless that is allowed.
func getters(ctx context.Context, settings *cli.EnvSettings, options Options) getter.Providers {
	providers := getter.All(settings)
	for i, provider := range providers {
		providers[i].New = func(given ...getter.Option) (getter.Getter, error) {
			next, err := provider.New(given...)
			if err != nil {
				return nil, err
			}
			return getterFunc(func(from string, given ...getter.Option) (*bytes.Buffer, error) {
				if parsed, err := url.Parse(from); err == nil && parsed.Scheme == "http" && !options.PlainHTTP {
					return nil, fmt.Errorf("http://%s is not encrypted; --plain-http allows that", parsed.Host)
				}
				return get(ctx, next, from, given)
			}), nil
		}
	}
	return providers
}

// getterFunc is a function that is a getter.
type getterFunc func(from string, options ...getter.Option) (*bytes.Buffer, error)

func (f getterFunc) Get(from string, options ...getter.Option) (*bytes.Buffer, error) {
	return f(from, options...)
}

// get leaves a request alone whose answer does not come before the context ends.
func get(ctx context.Context, next getter.Getter, from string, options []getter.Option) (*bytes.Buffer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type answer struct {
		content *bytes.Buffer
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		content, err := next.Get(from, options...)
		answers <- answer{content, err}
	}()
	select {
	case got := <-answers:
		return got.content, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
