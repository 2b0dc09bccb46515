"""Short questions and their answers in other words, to test if a model knows a language.

No question shares a content word with an answer, so that only the meaning connects the two. Each
pair has a subject of its own.
"""
# ruff: noqa: RUF001 -- letters of other alphabets are meant

from __future__ import annotations

_LINES = {
    "en": """
How much is a ticket? | Admission costs twelve euros for adults.
When does the shop close? | We are open until six in the evening.
Who wrote the novel? | The author of the book is a young teacher.
How do I reset the password? | Choose new login credentials in the settings.
Why is the machine so loud? | Worn bearings cause noise in the motor.
Where can I park my car? | There are spaces for vehicles behind the building.
Which illness does he have? | Doctors diagnosed pneumonia.
How is the weather tomorrow? | Heavy rain and storms are expected on Tuesday.
""",
    "de": """
Wie teuer ist eine Fahrkarte? | Der Eintritt kostet zwölf Euro für Erwachsene.
Wann schließt das Geschäft? | Wir haben bis sechs Uhr abends offen.
Wer schrieb den Roman? | Die Autorin des Buches ist eine junge Lehrerin.
Wie setze ich das Passwort zurück? | Wählen Sie in den Einstellungen neue Zugangsdaten.
Warum ist die Maschine so laut? | Abgenutzte Lager verursachen Geräusche im Motor.
Wo kann ich mein Auto abstellen? | Hinter dem Gebäude gibt es Parkplätze für Fahrzeuge.
Welche Krankheit hat er? | Die Ärzte stellten eine Lungenentzündung fest.
Wie wird das Wetter morgen? | Am Dienstag werden starker Regen und Sturm erwartet.
""",
    "es": """
¿Cuánto vale un billete? | La entrada cuesta doce euros para los adultos.
¿Cuándo cierra la tienda? | Atendemos al público hasta las seis de la tarde.
¿Quién escribió la novela? | La autora del libro es una joven profesora.
¿Cómo restablezco la contraseña? | Elija nuevas credenciales de acceso en los ajustes.
¿Por qué suena tan fuerte la máquina? | Los rodamientos gastados causan ruido en el motor.
¿Dónde puedo aparcar mi coche? | Hay plazas para vehículos detrás del edificio.
¿Qué enfermedad tiene? | Los médicos diagnosticaron una neumonía.
¿Qué tiempo hará mañana? | Se esperan lluvias intensas y tormentas el martes.
""",
    "fr": """
Combien vaut un billet ? | L'entrée coûte douze euros pour les adultes.
Quand ferme le magasin ? | Nous accueillons les clients jusqu'à six heures du soir.
Qui a écrit le roman ? | L'auteure du livre est une jeune enseignante.
Comment réinitialiser le mot de passe ? | Choisissez de nouveaux identifiants dans les réglages.
Pourquoi la machine est-elle si bruyante ? | Des roulements usés font vibrer le moteur.
Où puis-je garer ma voiture ? | Il y a des emplacements pour automobiles derrière le bâtiment.
De quelle maladie souffre-t-il ? | Les médecins ont diagnostiqué une pneumonie.
Quel temps fera-t-il demain ? | De fortes pluies et des orages sont attendus mardi.
""",
    "ru": """
Сколько стоит билет? | Взрослые платят двенадцать евро.
Когда закрывается магазин? | Мы работаем до шести вечера.
Кто написал роман? | Автор книги — молодая учительница.
Как сбросить пароль? | Выберите новые данные для входа в настройках.
Почему машина так гремит? | Изношенные подшипники вызывают шум в двигателе.
Где оставить автомобиль? | За зданием есть места для парковки.
Чем он болен? | Врачи нашли у него воспаление лёгких.
Какая завтра погода? | Во вторник ожидаются сильный дождь и гроза.
""",
    "ar": """
كم ثمن التذكرة؟ | يدفع البالغون اثني عشر يورو.
متى يغلق المتجر؟ | نستقبل الزبائن حتى السادسة مساء.
من كتب الرواية؟ | مؤلفة هذا العمل الأدبي معلمة شابة.
كيف أعيد تعيين كلمة المرور؟ | اختر بيانات دخول جديدة من الإعدادات.
لماذا صوت الآلة مرتفع جدا؟ | المحامل البالية تسبب ضجيجا في المحرك.
أين أوقف سيارتي؟ | توجد أماكن للمركبات خلف المبنى.
ما المرض الذي يعاني منه؟ | شخص الأطباء التهابا في الرئة.
كيف سيكون الطقس غدا؟ | من المتوقع هطول أمطار غزيرة وعواصف يوم الثلاثاء.
""",
    "hi": """
टिकट कितने का है? | वयस्कों के लिए प्रवेश शुल्क बारह यूरो है।
दुकान कब बंद होती है? | हम शाम छह बजे तक खुले हैं।
उपन्यास किसने लिखा? | इस पुस्तक की लेखिका एक युवा शिक्षिका हैं।
पासवर्ड कैसे बदलूँ? | सेटिंग में नए लॉगिन विवरण चुनें।
मशीन इतनी आवाज़ क्यों करती है? | घिसे हुए बेयरिंग मोटर में शोर पैदा करते हैं।
मैं गाड़ी कहाँ खड़ी कर सकता हूँ? | इमारत के पीछे वाहनों के लिए जगह है।
उसे कौन सी बीमारी है? | डॉक्टरों ने निमोनिया बताया।
कल मौसम कैसा रहेगा? | मंगलवार को भारी बारिश और तूफान की उम्मीद है।
""",
    "zh": """
一张票多少钱？ | 成人入场费为十二欧元。
商店几点关门？ | 我们营业到晚上六点。
这部小说是谁写的？ | 该书的作者是一位年轻教师。
如何重置密码？ | 请在设置中选择新的登录凭据。
机器为什么这么吵？ | 磨损的轴承使电机产生噪音。
我可以把车停在哪里？ | 大楼后面有车位。
他得了什么病？ | 医生诊断为肺炎。
明天天气怎么样？ | 预计星期二有大雨和风暴。
""",
    "ja": """
切符はいくらですか？ | 大人の入場料は十二ユーロです。
店はいつ閉まりますか？ | 営業は夕方六時までです。
この小説を書いたのは誰ですか？ | 本の著者は若い教師です。
パスワードを忘れたらどうしますか？ | 設定で新しい認証情報を選択できます。
機械はなぜこんなにうるさいのですか？ | 摩耗した軸受がモーターの騒音の原因です。
車はどこに止められますか？ | 建物の裏にパーキングがあります。
彼は何の病気ですか？ | 医師は肺炎と診断しました。
明日の天気はどうですか？ | 大雨と嵐が予想されています。
""",
}


def _pairs(lines: str) -> tuple[tuple[str, str], ...]:
    split = (line.split(" | ") for line in lines.strip().splitlines())
    return tuple((question, answer) for question, answer in split)


PAIRS = {language: _pairs(lines) for language, lines in _LINES.items()}
"""Eight pairs of question and answer by language, an ISO 639-1 code."""
NAMES = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "ru": "Russian",
    "ar": "Arabic",
    "hi": "Hindi",
    "zh": "Chinese",
    "ja": "Japanese",
}
"""English names of these languages."""
