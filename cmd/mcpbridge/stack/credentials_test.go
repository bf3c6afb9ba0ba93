package stack

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
)

// turnWith asks a model in a cloud. The model's own requests are given to check, others to token, which returns a
// response.
func turnWith(t *testing.T, p config.Provider, env map[string]string, check func(r *http.Request, body []byte), token func(r *http.Request) string) (again func(), err error) {
	p.Name, p.Type = "cloud", "openai"
	connect := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		answer := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
		kind := "text/event-stream"
		if strings.HasPrefix(r.URL.String(), p.BaseURL) {
			body, _ := io.ReadAll(r.Body)
			check(r, body)
		} else {
			answer, kind = token(r), "application/json"
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
	})}
	model, err := newModel(p, func(name string) (string, bool) { value, set := env[name]; return value, set }, connect)
	return func() {
		t.Helper()
		turn, err := model.Provider.Turn(t.Context(), &providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("hi")}}, nil)
		if err != nil || turn.Message.Text() != "ok" {
			t.Errorf("%+v, %v", turn, err)
		}
	}, err
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// awsSigned returns the header that signs a request as its own one says it is signed.
func awsSigned(r *http.Request, body []byte, secret string) string {
	until, _, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	credential, signed, _ := strings.Cut(strings.TrimSuffix(until, ", "), ", SignedHeaders=")
	_, scope, _ := strings.Cut(credential, "/")
	headers := ""
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.URL.Host
		case "content-length":
			value = fmt.Sprint(len(body))
		}
		headers += name + ":" + value + "\n"
	}
	digest := func(b []byte) string { sum := sha256.Sum256(b); return hex.EncodeToString(sum[:]) }
	request := strings.Join([]string{r.Method, r.URL.Path, r.URL.RawQuery, headers, signed, digest(body)}, "\n")
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return until + "Signature=" + hex.EncodeToString(mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), scope, digest([]byte(request))}, "\n")))
}

// Requests to Bedrock are signed with the key of the environment, or with the one that the file of a profile has by
// then. The double signs as AWS does in its published test vector get-vanilla.
func TestAWSCredentials(t *testing.T) {
	vanilla, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.amazonaws.com/", nil)
	vanilla.Header.Set("X-Amz-Date", "20150830T123600Z")
	published := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	vanilla.Header.Set("Authorization", published)
	if got := awsSigned(vanilla, nil, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"); got != published {
		t.Fatalf("the double signs\n%s, want\n%s", got, published)
	}

	file := filepath.Join(t.TempDir(), "credentials")
	write := func(secret string) {
		text := "[default]\naws_access_key_id = D\naws_secret_access_key = d\n\n# mine\n[mine]\naws_access_key_id=M\naws_secret_access_key=" + secret + "\naws_session_token=T=\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		url, scope    string
		env           map[string]string
		secret, token string
	}{
		{"https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "us-west-2/bedrock/aws4_request", map[string]string{"AWS_ACCESS_KEY_ID": "M", "AWS_SECRET_ACCESS_KEY": "s/1"}, "s/1", ""},
		{"https://bedrock-mantle.eu-west-1.api.aws/v1", "eu-west-1/bedrock-mantle/aws4_request", map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "mine"}, "s2", "T="},
	} {
		write("s2")
		check := func(r *http.Request, body []byte) {
			got, want := r.Header.Get("Authorization"), awsSigned(r, body, c.secret)
			if got != want || !strings.Contains(got, "Credential=M/") || !strings.Contains(got, c.scope) || r.Header.Get("X-Amz-Security-Token") != c.token || len(body) == 0 {
				t.Errorf("%v, want %s", r.Header, want)
			}
		}
		again, err := turnWith(t, config.Provider{BaseURL: c.url, Credentials: "aws"}, c.env, check, nil)
		if err != nil {
			t.Fatal(err)
		}
		again()
		if c.token != "" {
			c.secret = "s3"
			write(c.secret)
			again()
		}
	}
}

// A service account of Google proves with its key who it is, an application of Azure with its secret. Each gets a
// token, and another one before that expires.
func TestCloudTokens(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKCS8PrivateKey(key)
	file := filepath.Join(t.TempDir(), "key.json")
	account, _ := json.Marshal(map[string]string{"type": "service_account", "client_email": "me@p.example", "private_key_id": "k1", "token_uri": "https://token.example/t",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err := os.WriteFile(file, account, 0o600); err != nil {
		t.Fatal(err)
	}
	google := func(r *http.Request) string {
		parts := strings.Split(r.PostFormValue("assertion"), ".")
		if len(parts) != 3 {
			return "not a JWT"
		}
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
		var claim struct {
			Iss, Aud, Scope string
			Iat, Exp        int64
		}
		_ = json.Unmarshal(claims, &claim)
		if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature); err != nil || r.URL.String() != claim.Aud || claim.Iss != "me@p.example" ||
			claim.Scope != "https://www.googleapis.com/auth/cloud-platform" || claim.Exp <= time.Now().Unix() || claim.Exp > claim.Iat+3600 {
			return fmt.Sprintf("%s: %s, %v", r.URL, claims, err)
		}
		return ""
	}
	azure := func(r *http.Request) string {
		want := "client_id=app&client_secret=s%2F1&grant_type=client_credentials&scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default"
		if err := r.ParseForm(); err != nil || r.URL.String() != "https://login.microsoftonline.com/tenant/oauth2/v2.0/token" || r.PostForm.Encode() != want {
			return fmt.Sprintf("%s: %s", r.URL, r.PostForm.Encode())
		}
		return ""
	}
	for _, c := range []struct {
		cloud  string
		env    map[string]string
		verify func(r *http.Request) (fault string)
	}{
		{"google", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": file}, google},
		{"azure", map[string]string{"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "app", "AZURE_CLIENT_SECRET": "s/1"}, azure},
	} {
		synctest.Test(t, func(t *testing.T) {
			issued, seen := 0, ""
			check := func(r *http.Request, _ []byte) { seen += r.Header.Get("Authorization") + " " }
			again, err := turnWith(t, config.Provider{BaseURL: "https://cloud.example/v1", Credentials: c.cloud}, c.env, check, func(r *http.Request) string {
				if fault := c.verify(r); fault != "" {
					t.Error(fault)
				}
				issued++
				return fmt.Sprintf(`{"access_token": "t%d", "token_type": "Bearer", "expires_in": 3600}`, issued)
			})
			if err != nil {
				t.Fatal(err)
			}
			again()
			time.Sleep(30 * time.Minute)
			again()
			time.Sleep(30*time.Minute - time.Second)
			again()
			if want := "Bearer t1 Bearer t1 Bearer t2 "; seen != want {
				t.Errorf("%s: %s, want %s", c.cloud, seen, want)
			}
		})
	}
}

// Requests that come together wait for one token, each until its context ends. A failure is retried if it may pass, and
// its error is one line.
func TestCloudTokenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, status, answer := make(chan bool), http.StatusBadGateway, strings.Repeat("<p>bad</p>\n", 1000)
		connect := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			asked <- true
			if status == 0 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " status"), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
		})}
		env := map[string]string{"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "app", "AZURE_CLIENT_SECRET": "s"}
		auth, err := cloudAuth(&config.Provider{BaseURL: "https://cloud.example/v1", Credentials: "azure"}, func(name string) (string, bool) { return env[name], true }, connect)
		if err != nil {
			t.Fatal(err)
		}
		sign := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() {
				r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://cloud.example/v1", nil)
				done <- auth(r)
			}()
			return done
		}
		for _, status = range []int{http.StatusBadGateway, http.StatusUnauthorized} {
			done := sign(t.Context())
			<-asked
			var e *providers.APIError
			if err := <-done; !errors.As(err, &e) || e.Again != (status == http.StatusBadGateway) || len(err.Error()) > 400 || strings.Contains(err.Error(), "\n") {
				t.Errorf("HTTP %d: %+v", status, err)
			}
		}
		status = 0
		ctx, cancel := context.WithCancel(t.Context())
		gone, first, second := sign(ctx), sign(t.Context()), sign(t.Context())
		<-asked
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		begun := time.Now()
		for _, done := range []<-chan error{first, second} {
			var e *providers.APIError
			if err := <-done; !errors.As(err, &e) || !e.Again {
				t.Errorf("no answer: %+v", err)
			}
		}
		if waited := time.Since(begun); waited > 30*time.Second {
			t.Errorf("waited for %s", waited)
		}
	})
}

// An error names what is to be set.
func TestNoCredentials(t *testing.T) {
	dir := t.TempDir()
	user := filepath.Join(dir, "user.json")
	if err := os.WriteFile(user, []byte(`{"type": "authorized_user", "refresh_token": "r"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const bedrock = "https://bedrock-runtime.us-west-2.amazonaws.com"
	for _, c := range []struct{ cloud, url, name, value, want string }{
		{"aws", bedrock, "AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"},
		{"aws", bedrock, "AWS_SHARED_CREDENTIALS_FILE", dir, "no AWS access key: read "},
		{"aws", "https://bedrock-runtime.us-west-2.amazonaws.com.evil.example", "", "", `"credentials": "aws" needs https://bedrock-runtime.REGION.amazonaws.com`},
		{"aws", "https://bedrock-runtime.s3.amazonaws.com", "", "", `"credentials": "aws" needs https://bedrock-runtime.REGION.amazonaws.com`},
		{"google", "https://a.example", "", "", "set GOOGLE_APPLICATION_CREDENTIALS to the file"},
		{"google", "https://a.example", "GOOGLE_APPLICATION_CREDENTIALS", user, "user.json is not the key of a service account; for an account"},
		{"google", "https://a.example", "GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(dir, "none"), "GOOGLE_APPLICATION_CREDENTIALS: open "},
		{"google", "http://a.example", "GOOGLE_APPLICATION_CREDENTIALS", user, `baseUrl: "credentials": "google" needs https`},
		{"azure", "http://a.example", "AZURE_TENANT_ID", "x", `baseUrl: "credentials": "azure" needs https`},
		{"azure", "http://127.0.0.1:1", "AZURE_TENANT_ID", "x", "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"},
		{"azure", "https://a.example", "AZURE_AUTHORITY_HOST", "http://login.example", "AZURE_AUTHORITY_HOST needs https"},
		{"azure", "https://a.example", "AZURE_TENANT_ID", "x", "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"},
	} {
		if _, err := turnWith(t, config.Provider{BaseURL: c.url, Credentials: c.cloud}, map[string]string{c.name: c.value}, nil, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.cloud, err, c.want)
		}
	}
}
