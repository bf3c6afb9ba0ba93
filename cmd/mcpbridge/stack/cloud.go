package stack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/oauth2/jwt"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
)

// cloudVariables has the environment variables in which the tools of a cloud have credentials.
var cloudVariables = map[string][]string{
	"aws":    {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE"},
	"google": {"GOOGLE_APPLICATION_CREDENTIALS"},
	"azure":  {"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_AUTHORITY_HOST"},
}

// cloudAuth returns what authenticates the requests of an entry with the credentials of its cloud.
func cloudAuth(p *config.Provider, env lookup, connect *http.Client) (func(*http.Request) error, error) {
	getenv := func(name string) string { value, _ := env(name); return value }
	if p.Credentials == "aws" {
		return awsAuth(p.BaseURL, getenv)
	}
	if !encrypted(p.BaseURL) {
		return nil, fmt.Errorf("baseUrl: \"credentials\": %q needs https, except for this computer", p.Credentials)
	}
	client := *connect
	client.Timeout = 30 * time.Second // of a request for a token
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &client)
	var tokens oauth2.TokenSource
	if p.Credentials == "google" {
		account, err := googleAccount(getenv("GOOGLE_APPLICATION_CREDENTIALS"))
		if err != nil {
			return nil, err
		}
		tokens = account.TokenSource(ctx)
	} else {
		app, err := azureApp(getenv)
		if err != nil {
			return nil, err
		}
		tokens = app.TokenSource(ctx)
	}
	return authorized(func() (string, error) {
		token, err := tokens.Token() // another one before it expires
		if err != nil {
			return "", tokenError(err)
		}
		return token.Type() + " " + token.AccessToken, nil
	}), nil
}

// encrypted reports whether a token may be sent to a URL: others cannot read it on the way.
func encrypted(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && outbound.IsLoopback(u))
}

// tokenError returns the error of a request for a token. Its message is one line: err may have a whole response.
func tokenError(err error) error {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "")), " ")
	e := &providers.APIError{Message: fmt.Sprintf("%.300s", text), Again: true}
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) {
		status := refused.Response.StatusCode
		e.Again = status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
	}
	return e
}

// awsAuth signs requests to an endpoint of Amazon Bedrock (Signature Version 4). No other host gets a signature:
// a session token is sent with it.
func awsAuth(baseURL string, getenv func(string) string) (func(*http.Request) error, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, errors.New("baseUrl: not a URL")
	}
	endpoint, rest, _ := strings.Cut(u.Hostname(), ".")
	region, domain, _ := strings.Cut(rest, ".")
	service := map[string]string{"bedrock-runtime": "bedrock", "bedrock-mantle": "bedrock-mantle"}[strings.TrimSuffix(endpoint, "-fips")]
	isRegion := regexp.MustCompile(`^[a-z]+(-[a-z]+)+-[0-9]+$`).MatchString(region) // a bucket of S3 is none
	if service == "" || !isRegion || u.Scheme != "https" || domain != "amazonaws.com" && domain != "api.aws" {
		return nil, errors.New(`baseUrl: "credentials": "aws" needs https://bedrock-runtime.REGION.amazonaws.com or https://bedrock-mantle.REGION.api.aws`)
	}
	if _, err := awsKey(getenv); err != nil {
		return nil, err
	}
	return func(r *http.Request) error {
		key, err := awsKey(getenv)
		if err != nil {
			return err
		}
		h := sha256.New()
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return err
			}
			if _, err := io.Copy(h, body); err != nil {
				return err
			}
		}
		return v4.NewSigner().SignHTTP(r.Context(), key, r, hex.EncodeToString(h.Sum(nil)), service, region, time.Now())
	}, nil
}

// awsKey returns the access key of the environment, or else that of a profile in the file of shared credentials.
// That is read each time: tools write new keys there before the old ones expire.
func awsKey(getenv func(string) string) (aws.Credentials, error) {
	key := aws.Credentials{AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN")}
	if key.HasKeys() {
		return key, nil
	}
	home, _ := os.UserHomeDir()
	file := cmp.Or(getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials"))
	profile := cmp.Or(getenv("AWS_PROFILE"), "default")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return key, fmt.Errorf("no AWS access key: %w", err)
	}
	key = aws.Credentials{}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSpace(strings.TrimSuffix(name, "]"))
		}
		name, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		switch name = strings.TrimSpace(name); {
		case section != profile:
		case name == "aws_access_key_id":
			key.AccessKeyID = value
		case name == "aws_secret_access_key":
			key.SecretAccessKey = value
		case name == "aws_session_token":
			key.SessionToken = value
		}
	}
	if !key.HasKeys() {
		return key, fmt.Errorf("no AWS access key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of %s (it has no key for %q)", file, profile)
	}
	return key, nil
}

// googleAccount returns the service account whose key is in a file.
func googleAccount(file string) (*jwt.Config, error) {
	const another = `; for an account of another kind use "tokenCommand": "gcloud auth application-default print-access-token"`
	if file == "" {
		return nil, errors.New("no Google credentials: set GOOGLE_APPLICATION_CREDENTIALS to the file with the key of a service account" + another)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %w", err)
	}
	var account struct {
		Type       string `json:"type"`
		Email      string `json:"client_email"`
		PrivateKey string `json:"private_key"`
		KeyID      string `json:"private_key_id"`
		TokenURL   string `json:"token_uri"`
	}
	if err := json.Unmarshal(text, &account); err != nil || account.Type != "service_account" || account.PrivateKey == "" {
		return nil, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %s is not the key of a service account"+another, file)
	}
	tokenURL := cmp.Or(account.TokenURL, "https://oauth2.googleapis.com/token")
	if !encrypted(tokenURL) {
		return nil, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %s: token_uri needs https", file)
	}
	return &jwt.Config{
		Email: account.Email, PrivateKey: []byte(account.PrivateKey), PrivateKeyID: account.KeyID,
		Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}, TokenURL: tokenURL,
	}, nil
}

// azureApp returns the application that is registered with Microsoft Entra and has a client secret.
func azureApp(getenv func(string) string) (*clientcredentials.Config, error) {
	authority := strings.TrimSuffix(cmp.Or(getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com"), "/")
	if !encrypted(authority) {
		return nil, errors.New("AZURE_AUTHORITY_HOST needs https, except for this computer, as in https://login.microsoftonline.us")
	}
	tenant, id, secret := getenv("AZURE_TENANT_ID"), getenv("AZURE_CLIENT_ID"), getenv("AZURE_CLIENT_SECRET")
	if tenant == "" || id == "" || secret == "" {
		return nil, errors.New("no Azure credentials: set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET")
	}
	return &clientcredentials.Config{
		ClientID: id, ClientSecret: secret, AuthStyle: oauth2.AuthStyleInParams,
		TokenURL: authority + "/" + url.PathEscape(tenant) + "/oauth2/v2.0/token", Scopes: []string{"https://cognitiveservices.azure.com/.default"},
	}, nil
}
